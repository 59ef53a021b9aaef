import type { Revision } from '../../../shared/tasks/formats.ts';
import type { TaskDump } from './invariants.ts';
import type { Connection, RemoteClient, Sight } from './remote-client.ts';

/**
 * P2, for all that clients were shown of a task: each is a committed state, COMPLETED is shown with its artifacts, and
 * whoever asks sees what any client was shown before, or later.
 */
export function brokenSights(tasks: readonly TaskDump[], clients: readonly RemoteClient[]): string[] {
  const sights = clients.flatMap((client) => client.sights);
  const found: string[] = [];
  for (const sight of sights) {
    const revision = revisionOf(tasks, sight);
    if (!revision) {
      found.push(`${sight.state} of ${sight.timestamp} was shown and never committed`);
      continue;
    }
    if (sight.by === 'answer' && sight.artifacts !== (revision.result?.artifacts ?? 0))
      found.push(`${sight.state} was answered with ${sight.artifacts} artifacts`);
    for (const earlier of sight.by === 'answer' ? sights : []) {
      if (earlier.task !== sight.task || earlier.to > sight.from) continue;
      const seen = revisionOf(tasks, earlier)?.revision ?? 0;
      if (seen > revision.revision)
        found.push(
          `revision ${revision.revision} was answered after ${seen} had been shown by ${earlier.by}`,
        );
    }
  }
  return found;
}

function revisionOf(tasks: readonly TaskDump[], sight: Sight): Revision | undefined {
  return tasks
    .find(({ id }) => id === sight.task)
    ?.revisions.find(
      ({ state, statusAt }) => state === sight.state && new Date(statusAt).toISOString() === sight.timestamp,
    );
}

/**
 * P2, for each connection of a stream: its events are those of the committed revisions, from where it began, each once
 * and without a gap; and one that the gateway ended shows the end.
 */
export function brokenStreams(tasks: readonly TaskDump[], clients: readonly RemoteClient[]): string[] {
  return clients.flatMap((client) => client.connections.flatMap((each) => brokenConnection(tasks, each)));
}

function brokenConnection(tasks: readonly TaskDump[], connection: Connection): string[] {
  const [first] = connection.events;
  if (!first) return connection.end === 'closed' ? ['a stream was ended without an event'] : [];
  const revisions = tasks.find(({ id }) => id === first.task)?.revisions ?? [];
  const expected = revisions.flatMap(eventsOf);
  const begins = connection.after ?? first.id;
  const start = expected.findIndex(({ id }) => id === begins);
  if (start < 0) return [`a stream began with ${begins}, which is no event`];
  const rest = connection.events.slice(connection.after === undefined ? 1 : 0);
  const seen = rest.map(({ id, kind, state }) => `${id} ${kind} ${state ?? ''}`);
  const wanted = expected.slice(start + 1, start + 1 + rest.length);
  const found: string[] = [];
  if (connection.after === undefined && (first.kind !== 'task' || first.state !== expected[start]?.state))
    found.push(`a stream began with ${first.kind} ${first.state} as ${first.id}`);
  if (seen.join() !== wanted.map(({ id, kind, state }) => `${id} ${kind} ${state ?? ''}`).join())
    found.push(`a stream behind ${begins} showed ${seen.join(', ')}`);
  const last = connection.events.at(-1)!;
  if (connection.end === 'closed' && !endsStream(connection, last.state))
    found.push(`a stream was ended at ${last.id} ${last.state}`);
  return found;
}

function eventsOf(revision: Revision): { id: string; kind: string; state?: string }[] {
  const artifacts = revision.result?.artifacts ?? 0;
  return [
    ...Array.from({ length: artifacts }, (_, i) => ({
      id: `${revision.revision}.${i}`,
      kind: 'artifactUpdate',
    })),
    { id: `${revision.revision}.${artifacts}`, kind: 'statusUpdate', state: revision.state },
  ];
}

function endsStream(connection: Connection, state: string | undefined): boolean {
  const ends = /COMPLETED|FAILED|CANCELED|REJECTED/;
  if (state === undefined) return false;
  return ends.test(state) || (connection.method === 'SendStreamingMessage' && /INPUT_REQUIRED/.test(state));
}
