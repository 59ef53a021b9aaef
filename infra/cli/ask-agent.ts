import { randomUUID } from 'node:crypto';
import type { CallFailure, StreamEnd, StreamItem } from '../../shared/client/index.ts';
import { credentialNames, withCredential } from './agent-commands.ts';
import { CommandFailure } from './command-failure.ts';
import type { LocalCommand, LocalResult } from './commands.ts';
import { listOf, secretOf } from './commands.ts';
import { bare, barred, type Row } from './render.ts';
import type { Surroundings } from './surroundings.ts';

type Options = Readonly<Record<string, unknown>>;

/**
 * `agent ask` talks to an agent from here, over the gateway's own client and guard: to see what an agent does before it is
 * registered, or to follow one of its tasks. A stream that breaks off is taken up again behind its last event.
 */
export function addAskCommand(local: LocalCommand, around: Surroundings): void {
  withCredential(
    local(
      'agent',
      'ask <card>',
      'send a message to an agent from here and follow its answer; asks no gateway',
      ([card = ''], options) => ask(card, options, around),
    ),
  )
    .option('--message <text>', 'what to say')
    .option('--task <id>', 'with --message: go on with this task; without: only follow it')
    .option('--context <id>', 'in this context')
    .option('--allow-origin <origin...>', "origins besides the card's that its interface may have")
    .option('--trusted-host <name...>', 'hosts that may have private addresses')
    .option('--port <number...>', 'ports open besides 443')
    .option('--allow-loopback', 'let it be on this machine, http included');
}

async function ask(card: string, options: Options, around: Surroundings): Promise<LocalResult> {
  const [text, task] = [options['message'], options['task']];
  if (typeof text !== 'string' && typeof task !== 'string')
    throw new CommandFailure(
      'USAGE',
      'say what to send with --message, or which task to follow with --task',
      'message',
    );
  const { client, explain } = await connect(card, options, around);
  const context = options['context'];
  const stream =
    typeof text === 'string'
      ? client.sendStreamingMessage({
          message: {
            messageId: randomUUID(),
            role: 'ROLE_USER',
            parts: [{ text }],
            ...(typeof task === 'string' ? { taskId: task } : {}),
            ...(typeof context === 'string' ? { contextId: context } : {}),
          },
        })
      : client.subscribeToTask({ id: String(task) });
  const items: Row[] = [];
  let end: StreamEnd | undefined;
  for await (const item of stream) {
    if (item.kind === 'end') end = item.end;
    else items.push(rowOf(item, explain));
    if (options['json'] !== true && item.kind !== 'end') around.write(linesOf(item, explain));
  }
  const said = end ? wordsOf(end, explain) : 'the stream had no end';
  return {
    result: { items, end: end ? { kind: end.kind, says: said, ...stateOf(end) } : null },
    code: end && isGood(end) ? 0 : 1,
    show: () => `${bare(said)}\n`,
  };
}

/** The card without the credential, its first interface that can be spoken, and a client for that. */
async function connect(card: string, options: Options, around: Surroundings) {
  const [
    { createA2AClient, fetchAgentCard, selectInterface },
    { createGuard },
    { policyOf },
    words,
    { systemClock, systemRandom },
  ] = await Promise.all([
    import('../../shared/client/index.ts'),
    import('../../shared/guard/index.ts'),
    import('../../shared/delegation/agents.ts'),
    import('../../shared/delegation/explain.ts'),
    import('../../shared/runtime/system.ts'),
  ]);
  const credential = await secretOf(options, around, credentialNames);
  const { resolver } = around;
  const guard = createGuard({
    ownHosts: [],
    ...(resolver && { resolver }),
    ...(options['allowLoopback'] === true && { allowLoopback: true }),
  });
  const policy = policyOf({
    trustedHosts: listOf(options['trustedHost']),
    allowedPorts: listOf(options['port']).map(Number),
  });
  const url = URL.parse(card);
  if (!url) throw new CommandFailure('USAGE', 'the card must be a URL', 'card');
  if (url.pathname === '/') url.pathname = '/.well-known/agent-card.json';
  const read = await fetchAgentCard({ guard, policy, clock: systemClock, url: url.href });
  if (read.kind === 'unchanged') throw new Error('no card was known before');
  if (read.kind !== 'card') throw new CommandFailure('AGENT', words.explainCard(read), 'card');
  const choice = selectInterface(read.card, url.href, listOf(options['allowOrigin']));
  if (choice.kind === 'origin-refused')
    throw new CommandFailure(
      'AGENT',
      `its interface is at ${choice.origin}: allow that with --allow-origin`,
      'card',
    );
  if (choice.kind === 'no-compatible-interface')
    throw new CommandFailure('AGENT', 'no compatible interface: none is JSONRPC of version 1.0', 'card');
  const client = createA2AClient({
    ...{ guard, policy, interface: choice.interface, clock: systemClock, random: systemRandom },
    ...(credential === undefined ? {} : { credential }),
  });
  const explain = (failure: CallFailure) => words.explainCall(failure, credential !== undefined);
  return { client, explain };
}

type Explain = (failure: CallFailure) => string;

function rowOf(item: Exclude<StreamItem, { kind: 'end' }>, explain: Explain): Row {
  switch (item.kind) {
    case 'event':
      return { ...item.event, ...(item.id === undefined ? {} : { id: item.id }) };
    case 'skipped':
      return { kind: 'skipped' };
    case 'interrupted':
      return { kind: 'interrupted', says: explain(item.failure), resumption: item.resumption };
  }
}

function linesOf(item: Exclude<StreamItem, { kind: 'end' }>, explain: Explain): string {
  switch (item.kind) {
    case 'event': {
      const { event } = item;
      switch (event.kind) {
        case 'task':
          return line(
            `task ${event.task.id}`,
            stateWord(event.task.status.state),
            event.task.status.message?.parts,
          );
        case 'statusUpdate':
          return line(
            '',
            stateWord(event.statusUpdate.status.state),
            event.statusUpdate.status.message?.parts,
          );
        case 'artifactUpdate': {
          const { artifact } = event.artifactUpdate;
          return line(
            '',
            `artifact${artifact.name === undefined ? '' : ` ${artifact.name}`}`,
            artifact.parts,
          );
        }
        case 'message':
          return line('', 'message', event.message.parts);
      }
      return '';
    }
    case 'skipped':
      return line('', 'something of a kind that is not known here', undefined);
    case 'interrupted':
      return line('', `the stream broke off (${explain(item.failure)}); it is taken up again`, undefined);
  }
}

/** What is said stands behind a bar, so that none of it looks like a line of ours. */
function line(
  first: string,
  title: string,
  parts: readonly { readonly text?: string; readonly data?: unknown; readonly url?: string }[] | undefined,
): string {
  const said = (parts ?? []).map(
    ({ text, data, url }) => text ?? url ?? (data === undefined ? '[file]' : JSON.stringify(data)),
  );
  return `${[[first, title].filter(Boolean).map(bare).join('  '), ...said.flatMap(barred)].join('\n')}\n`;
}

const stateWord = (state: string | { readonly unknown: string }): string =>
  typeof state === 'string' ? state.replace('TASK_STATE_', '') : 'a state that is not known here';

function wordsOf(end: StreamEnd, explain: Explain): string {
  switch (end.kind) {
    case 'finished':
      return `the task ended ${stateWord(end.state)}`;
    case 'waiting':
      return `the task waits for you (${stateWord(end.state)}): answer with --task ${end.taskId} --message`;
    case 'answered':
      return 'the agent answered with a message and no task';
    case 'cut':
      return `the stream broke off: ${explain(end.failure)}; follow it with --task ${end.taskId}`;
    default:
      return explain(end);
  }
}

function stateOf(end: StreamEnd): object {
  return 'taskId' in end ? { task: end.taskId, ...('state' in end ? { state: end.state } : {}) } : {};
}

function isGood(end: StreamEnd): boolean {
  return (
    end.kind === 'answered' ||
    end.kind === 'waiting' ||
    (end.kind === 'finished' && end.state === 'TASK_STATE_COMPLETED')
  );
}
