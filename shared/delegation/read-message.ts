import { type MessagePayload, readStored } from '../tasks/content.ts';
import type { Head } from '../tasks/formats.ts';
import { readRevisions } from '../tasks/read-head.ts';
import type { TaskServices } from '../tasks/services.ts';

/** One message of a task's history by its number, as it is stored; `undefined`: it was removed. */
export async function readMessage(
  services: TaskServices,
  head: Head,
  number: number,
): Promise<MessagePayload | undefined> {
  const revisions = await readRevisions(services, head.task, 1, head.revision);
  const ref = revisions.find(({ message }) => message?.number === number)?.message;
  const read = ref && (await readStored(services, { head, messages: [ref] }));
  return read && read !== 'removed' ? read.messages[0] : undefined;
}
