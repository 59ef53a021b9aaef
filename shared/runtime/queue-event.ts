/** What is read of an SQS batch, and what is answered so that only what failed comes back. */
export interface QueueRecord {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
}
export interface QueueEvent {
  readonly Records: readonly QueueRecord[];
}
export interface BatchAnswer {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/**
 * Handles the records one after another; those whose work rejects come back, the others do not. A body that `read` makes
 * nothing of is none of ours, which no retry would mend.
 */
export async function each<Message>(
  event: QueueEvent,
  read: (body: unknown) => Message | undefined,
  work: (message: Message, record: QueueRecord) => Promise<'done' | 'again'>,
  failed: (message: Message, error: unknown) => void,
): Promise<BatchAnswer> {
  const again: { itemIdentifier: string }[] = [];
  for (const record of event.Records) {
    const message = read(parsed(record.body));
    if (message === undefined) continue;
    try {
      if ((await work(message, record)) === 'again') again.push({ itemIdentifier: record.messageId });
    } catch (error) {
      failed(message, error);
      again.push({ itemIdentifier: record.messageId });
    }
  }
  return { batchItemFailures: again };
}

/** `each` for messages that name a task. */
export function eachTask(
  event: QueueEvent,
  work: (task: string, record: QueueRecord) => Promise<'done' | 'again'>,
  failed: (task: string, error: unknown) => void,
): Promise<BatchAnswer> {
  return each(event, taskOf, work, failed);
}

function taskOf(body: unknown): string | undefined {
  const { task } = (body ?? {}) as { readonly task?: unknown };
  return typeof task === 'string' && task !== '' ? task : undefined;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
