import type { ProxyAnswer } from '../../../functions/admin/routes.ts';
import { Died } from './instance.ts';
import type { World } from './world.ts';

const MINUTE = 60_000;
const MOST_TRIES = 40;
/** What a person repeats: no answer, or one that says so. */
const AGAIN = new Set(['OUTCOME_UNKNOWN', 'INTERNAL', 'CONFLICT']);

export interface Administered {
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into.
  readonly result?: any;
  readonly error?: { readonly code: string; readonly message: string };
}

/** One command of an administrator, repeated with the same words until it is answered. */
export async function administer(world: World, operation: string, input: object): Promise<Administered> {
  const event = {
    body: JSON.stringify({ operation, arguments: input }),
    isBase64Encoded: false,
    requestContext: { requestId: 'r', identity: { userArn: 'arn:aws:iam::111122223333:user/ada' } },
  };
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const answer = await world.invoke<ProxyAnswer>('admin', event).catch(unlessDied);
    if (answer) {
      const { result, error } = JSON.parse(answer.body) as Administered;
      if (!error) return { result };
      if (!AGAIN.has(error.code)) return { error };
    }
    await world.clock.sleep(1_000);
  }
  throw new Error(`${operation} was never answered`);
}

/** The schedule that wakes the ceiling function, until its job is done; less often than every minute, which changes nothing. */
export async function untilTightened(world: World): Promise<void> {
  for (let minutes = 0; minutes < 120; minutes++) {
    await world.invoke('ceiling', {}).catch(unlessDied);
    const { result } = await administer(world, 'ceiling.show', {});
    if (result?.ceiling.state === 'done') return;
    await world.clock.sleep(5 * MINUTE);
  }
  throw new Error('the tightening never was done');
}

/** Any other failure is the platform's to see, and the next call's to mend. */
function unlessDied(error: unknown): undefined {
  if (!(error instanceof Died) && (error as { tag?: string }).tag !== 'StoreUnavailable') throw error;
  return undefined;
}
