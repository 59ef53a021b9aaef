import { CommandFailure } from './command-failure.ts';
import { type CommandParts, isRow, rows } from './commands.ts';
import { printable, type Row, record } from './render.ts';
import type { Surroundings } from './surroundings.ts';
import type { Target } from './target.ts';

/** The gateway waits this long at a time; API Gateway gives up after 29 s. */
const WAIT_SECONDS = 20;
/** Nothing happens in these before something else does; the others are ends, or wait for somebody. */
const MOVING: readonly unknown[] = ['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING'];

/** Runs of the built-in client `admin` (design §8): delegation without the server role. */
export function addRunCommands({ command, around }: CommandParts): void {
  command(
    'run',
    'start <agent|profile>',
    'send a message to a profile, or straight to a remote agent',
    async ([target], options) => ({
      operation: 'run.start',
      input: { target, message: await messageOf(options, around) },
      show: showRun,
      ...(options['wait'] === true ? { follow: waitForEnd } : {}),
    }),
  )
    .option('--message <text>', 'what to send; - for the standard input')
    .option('--wait', 'until the run ends or asks something, and show what it brought');
  command('run', 'show <task>', 'show where a run stands, and to who started it what it brought', ([id]) => ({
    operation: 'run.show',
    input: { id },
    show: showRun,
  }));
  command('run', 'reply <task>', 'answer what a run asks', async ([id], options) => ({
    operation: 'run.reply',
    input: { id, message: await messageOf(options, around) },
    show: record,
  })).option('--message <text>', 'what to answer; - for the standard input');
  command('run', 'cancel <task>', 'end a run, and tell the remote agents that work for it', ([id]) => ({
    operation: 'run.cancel',
    input: { id },
    show: record,
  }));
}

async function messageOf(
  { message }: Readonly<Record<string, unknown>>,
  around: Surroundings,
): Promise<string> {
  if (typeof message !== 'string')
    throw new CommandFailure(
      'USAGE',
      'say what to send with --message, or - for the standard input',
      'message',
    );
  return message === '-' ? around.readInput() : message;
}

async function waitForEnd(started: Row, target: Target): Promise<Row> {
  for (let run = started; ; ) {
    run = (await target('run.show', { id: run['id'], waitSeconds: WAIT_SECONDS })) as Row;
    if (!MOVING.includes(run['state'])) return run;
  }
}

/** Facts first, then what the agent said and brought, as text where it is text. */
function showRun({ task, ...facts }: Row): string {
  if (!isRow(task)) return record(facts);
  const status = isRow(task['status']) ? task['status'] : {};
  const said = isRow(status['message']) ? partsOf(status['message']) : '';
  const artifacts = rows(task['artifacts']).map(partsOf);
  const texts = [said, ...artifacts].filter((text) => text !== '');
  return [record(facts), ...texts.map((text) => `${printable(text)}\n`)].join('\n');
}

function partsOf({ parts }: Row): string {
  return rows(parts)
    .map((part) => (typeof part['text'] === 'string' ? part['text'] : JSON.stringify(part)))
    .join('\n');
}
