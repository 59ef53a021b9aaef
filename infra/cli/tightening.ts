import { setTimeout as pause } from 'node:timers/promises';
import type { CommandParts, Request } from './commands.ts';
import type { Bar } from './progress.ts';
import { type Row, record } from './render.ts';
import type { Surroundings } from './surroundings.ts';
import type { Target } from './target.ts';
import { addUp } from './walk.ts';

const LOOK_AGAIN_MS = 1_000;

/** Options and what comes after the answer of a change that may lower a level. */
export function tightens(added: ReturnType<CommandParts['command']>): void {
  added
    .option('--dry-run', 'change nothing; say how many tasks it would touch')
    .option('--no-wait', 'do not wait for the tasks that a lowered level is applied to');
}

/** `input` and `follow` of such a change. */
export function tightening(
  { around, bar }: Pick<CommandParts, 'around' | 'bar'>,
  request: Request,
  options: Readonly<Record<string, unknown>>,
): Request {
  const { operation, input } = request;
  if (options['dryRun'] === true) {
    const dry = { ...input, dryRun: true };
    return {
      operation,
      input: dry,
      follow: (first, target) =>
        addUp(bar, first, (cursor) => target(operation, { ...dry, cursor }), 'touched'),
      show: ({ looked, touched }) => record({ looked, touched }),
    };
  }
  const show = (result: Row) => `${request.show(result)}${showApplied(result)}`;
  if (options['wait'] === false) return { ...request, show };
  return { ...request, show, follow: (first, target) => untilApplied({ around, bar, target }, first) };
}

function showApplied({ ceiling }: Row): string {
  return ceiling === undefined
    ? ''
    : `\nThe lowered level counts; the tasks that it is applied to:\n${record(ceiling as Row)}`;
}

/** A lowered level counts at once; the tasks it is applied to follow, and are waited for until all were looked at. */
async function untilApplied(
  { around, bar, target }: { readonly around: Surroundings; readonly bar: Bar; readonly target: Target },
  first: Row,
): Promise<Row> {
  let job = first['ceiling'] as Row | undefined;
  if (job === undefined) return first;
  while (Number(job['pass']) < 2 && job['state'] !== 'done') {
    showJob(bar, job);
    await (around.sleep ?? pause)(LOOK_AGAIN_MS);
    job = ((await target('ceiling.show', {})) as Row)['ceiling'] as Row;
  }
  showJob(bar, { ...job, looked: job['total'] });
  bar.end();
  return { ...first, ceiling: job };
}

function showJob(bar: Bar, job: Row): void {
  const counts = ['lowered', 'redacted', 'ended', 'purged', 'failed'].flatMap((name) =>
    Number(job[name] ?? 0) > 0 ? [`${job[name]} ${name}`] : [],
  );
  const total = job['total'] === undefined ? undefined : Number(job['total']);
  bar.show(Number(job['looked']), total, ['tasks looked at', ...counts].join(', '));
}
