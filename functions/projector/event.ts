import type { Change } from '../../shared/runs/follow.ts';
import { taskOfKey } from '../../shared/storage/keys.ts';

/** What is read of a DynamoDB stream batch; the stream carries keys only. */
export interface StreamEvent {
  readonly Records: readonly {
    readonly dynamodb?: {
      readonly Keys?: Readonly<Record<string, { readonly S?: string }>>;
      readonly SequenceNumber?: string;
    };
  }[];
}

/** The tasks whose revisions were inserted; a record that names none is passed over. */
export function changesOf(event: StreamEvent): Change[] {
  return event.Records.flatMap(({ dynamodb }) => {
    const pk = dynamodb?.Keys?.['pk']?.S;
    const sk = dynamodb?.Keys?.['sk']?.S;
    const task = pk !== undefined && sk !== undefined ? taskOfKey({ pk, sk }) : undefined;
    return task === undefined ? [] : [{ task, at: dynamodb?.SequenceNumber ?? '' }];
  });
}
