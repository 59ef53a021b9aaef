import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Calls } from './calls.ts';
import type { Instance } from './instance.ts';

/** Tokens of transactions count for a whole engine: those of two worlds that began with the same seed must not meet. */
export type OwnToken = (token: string) => string;

/**
 * The client as one instance has it: a middleware of the SDK takes each command into the line of calls, before anything
 * of it is sent. All instances share the connections below.
 */
export function wired(
  client: DynamoDBClient,
  calls: Calls,
  instance: Instance,
  own: OwnToken,
): DynamoDBClient {
  const send = ((command: Parameters<DynamoDBClient['send']>[0], options: object) => {
    command.middlewareStack.add(
      (next, context) => (args) =>
        calls.make(instance, `dynamodb ${context.commandName}`, args.input, () => {
          const { ClientRequestToken: token } = args.input as { ClientRequestToken?: string };
          return next(
            token === undefined
              ? args
              : { ...args, input: { ...args.input, ClientRequestToken: own(token) } },
          );
        }),
      { step: 'initialize', name: 'lineOfCalls' },
    );
    return client.send(command, options);
  }) as DynamoDBClient['send'];
  return { send } as DynamoDBClient;
}
