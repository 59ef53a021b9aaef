import { Option } from 'commander';
import { CommandFailure } from './command-failure.ts';
import { type CommandParts, given, rows } from './commands.ts';
import { showDraft } from './draft.ts';
import type { Bar } from './progress.ts';
import { type Row, record, table } from './render.ts';
import type { Surroundings } from './surroundings.ts';
import type { Target } from './target.ts';
import { addUp } from './walk.ts';

type Options = Readonly<Record<string, unknown>>;

/** What is kept and how long (design §7): how far a tightening is, results that wait for a person, purges. */
export function addPrivacyCommands(parts: CommandParts): void {
  const { command, around, bar } = parts;
  command('ceiling', 'show', 'show how far the last tightening of a level is', () => ({
    operation: 'ceiling.show',
    input: {},
    show: ({ ceiling }) => record(ceiling as Row),
  }));

  command('approval', 'list', 'list the results that wait for approval', () => ({
    operation: 'approval.list',
    input: {},
    show: ({ approvals }) =>
      table(['task', 'client', 'profile', 'revision', 'since', 'until'], rows(approvals)),
  }));
  command('approval', 'show <task>', 'show the draft that waits: content, for its approver', ([task]) => ({
    operation: 'approval.show',
    input: { task },
    show: showDraft,
  }));
  const decide = (verb: string, description: string) =>
    command('approval', `${verb} <task>`, description, ([task], options) => ({
      operation: `approval.${verb}`,
      input: {
        task,
        ...given(options, { reason: 'reason' }),
        ...(options['revision'] === undefined ? {} : { revision: Number(options['revision']) }),
      },
      show: record,
    }))
      .option('--revision <number>', 'only this draft, as approval show names it')
      .requiredOption('--reason <text>', 'why; stands in the audit, so quote no content');
  decide('approve', 'release the result that waits');
  decide('reject', 'end the task without its result');

  command(
    'task',
    'purge [id]',
    'take tasks away for good: one, of a client, or old ones',
    ([id], options) => {
      const selection = selectionOf(id, options);
      return {
        operation: 'task.purge',
        input: { ...selection, dryRun: true },
        follow: (first, target) => purge({ around, bar, target, selection, options }, first),
        show: ({ purged, dryRun, ...rest }: Row) =>
          record({ ...rest, [dryRun === true ? 'would be purged' : 'purged']: purged }),
      };
    },
  )
    .option('--client <id>', 'only tasks of this client')
    .option('--older-than <days>', 'only tasks that did not change for so many days')
    .addOption(new Option('--dry-run', 'say how many, and purge none').conflicts('yes'))
    .option('--yes', 'do not ask');
}

/** What is meant, to the letter: a variable that a script left empty must not mean everything. */
function selectionOf(id: string | undefined, options: Options): object {
  const days = options['olderThan'];
  if (id === undefined && options['client'] === undefined && days === undefined)
    throw new CommandFailure('USAGE', 'say which tasks: an id, --client or --older-than', 'id');
  if (days !== undefined && !/^[1-9]\d{0,4}$/.test(String(days)))
    throw new CommandFailure(
      'USAGE',
      '--older-than must be a whole number of days, at least 1',
      'older-than',
    );
  return {
    ...(id === undefined ? {} : { id }),
    ...given(options, { client: 'client' }),
    ...(days === undefined ? {} : { olderThanDays: Number(days) }),
  };
}

async function purge(
  parts: {
    readonly around: Surroundings;
    readonly bar: Bar;
    readonly target: Target;
    readonly selection: object;
    readonly options: Options;
  },
  first: Row,
): Promise<Row> {
  const { around, bar, target, selection, options } = parts;
  const part = (dryRun: boolean) => (cursor: unknown) =>
    target('task.purge', { ...selection, dryRun, ...(cursor === undefined ? {} : { cursor }) });
  const found = await addUp(bar, first, part(true), 'purged');
  if (options['dryRun'] === true) return found;
  if (found['purged'] === 0) return { ...found, dryRun: false };
  if (options['yes'] !== true) {
    const count = `${found['purged']} of ${found['looked']} tasks`;
    if (!around.terminal)
      throw new CommandFailure('NOT_CONFIRMED', `${count} would be purged for good; repeat with --yes`);
    if (!(await around.terminal.confirm(`Purge ${count} for good?`)))
      throw new CommandFailure('NOT_CONFIRMED', 'nothing was purged');
  }
  const total = Number(found['looked']);
  return addUp(bar, (await part(false)(undefined)) as Row, part(false), 'purged', total);
}
