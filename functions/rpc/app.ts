import middy from '@middy/core';
import { executionModeStreamifyResponse } from '@middy/core/StreamifyResponse';
import { createCardPublisher } from '../../shared/cards/index.ts';
import { createKmsCardSigner } from '../../shared/cards/signer-kms.ts';
import { handleRpc, type RpcServices } from '../../shared/rpc/index.ts';
import { composeTasks, type Seams } from '../../shared/runtime/compose.ts';
import { type Environment, readEnvironment } from '../../shared/runtime/environment.ts';
import { composeRunQueue } from '../../shared/runtime/queues.ts';
import { createKmsClient } from '../../shared/sealing/keys-kms.ts';
import { answerOf, type RpcEvent, requestOf, type StreamedAnswer } from './event.ts';

/** The function stops answering this long before the platform would stop it, ms. */
const MARGIN_MS = 3_000;

/**
 * The RPC endpoint as a streaming Lambda handler; the global `awslambda` must exist when it is built. Throws when the
 * environment is incomplete. No request fails: whatever goes wrong is answered as a JSON-RPC body.
 */
export function createHandler(variables: Readonly<Record<string, string | undefined>>, seams: Seams = {}) {
  const environment = readEnvironment(variables);
  const tasks = composeTasks(environment, 'rpc', seams, { agents: false });
  const services: RpcServices = {
    ...tasks,
    runQueue: composeRunQueue(environment, seams),
    cards: createCardPublisher(signerOf(environment)),
    loopbackWebhooks: seams.outbound?.allowLoopback ?? false,
  };
  return middy<RpcEvent, StreamedAnswer>({ executionMode: executionModeStreamifyResponse }).handler(
    async (event, context) => {
      const left = context.getRemainingTimeInMillis();
      const deadline = services.clock.now() + left - MARGIN_MS;
      const answer = await handleRpc(services, requestOf(event, environment.SEALPOST_PUBLIC_URL), deadline);
      return answerOf(answer, tasks.flush);
    },
  );
}

function signerOf(environment: Environment) {
  const key = environment.SEALPOST_CARD_KEY;
  return key === undefined ? undefined : createKmsCardSigner(createKmsClient(environment), key);
}
