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

/** The task id of a message; `undefined` for a body that is none of ours, which no retry would mend. */
export function taskOfMessage(record: QueueRecord): string | undefined {
  try {
    const { task } = JSON.parse(record.body) as { readonly task?: unknown };
    return typeof task === 'string' && task !== '' ? task : undefined;
  } catch {
    return undefined;
  }
}

/** Handles the records one after another; those whose work rejects come back, the others do not. */
export async function eachTask(
  event: QueueEvent,
  work: (task: string, record: QueueRecord) => Promise<'done' | 'again'>,
  failed: (task: string, error: unknown) => void,
): Promise<BatchAnswer> {
  const again: { itemIdentifier: string }[] = [];
  for (const record of event.Records) {
    const task = taskOfMessage(record);
    if (task === undefined) continue;
    try {
      if ((await work(task, record)) === 'again') again.push({ itemIdentifier: record.messageId });
    } catch (error) {
      failed(task, error);
      again.push({ itemIdentifier: record.messageId });
    }
  }
  return { batchItemFailures: again };
}
