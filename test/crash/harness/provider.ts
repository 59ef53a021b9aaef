import {
  echoAdapter,
  type ProviderAdapter,
  type ProviderRequest,
  type ProviderResult,
} from '../../../shared/providers/index.ts';
import { createRemoteAdapter } from '../../../shared/providers/remote.ts';
import type { Provider } from '../../../shared/registry/index.ts';
import type { Calls } from './calls.ts';
import type { VirtualClock } from './clock.ts';
import type { Instance } from './instance.ts';
import type { Ledger } from './ledger.ts';

/** What a provider does with one run; it is part of the instance that calls it, as far as dying goes. */
export type Script = (run: ProviderRun) => Promise<ProviderResult>;

export interface ProviderRun extends ProviderRequest {
  /** Ends early when the run is no longer wanted. */
  sleep(ms: number): Promise<void>;
  /** The instance dies here: never returns. */
  die(): Promise<never>;
}

export interface ProviderParts {
  readonly instance: Instance;
  readonly calls: Calls;
  readonly clock: VirtualClock;
  readonly ledger: Ledger;
  readonly provider: Provider;
  /** Default: echo, or what hands the task on. */
  readonly script: Script | undefined;
}

/** A provider as an instance calls it: a call in the line, noted when it takes effect, then what its script says. */
export function providerIn({
  instance,
  calls,
  clock,
  ledger,
  provider,
  script,
}: ProviderParts): ProviderAdapter {
  return {
    async run(request) {
      const { task, attempt } = request;
      await calls.make(instance, `provider ${provider.id}`, { task, attempt }, async () =>
        ledger.note({
          ...{ kind: 'provider', at: clock.now(), task, attempt, late: instance.wasFrozen },
          resumed: request.delegation !== undefined,
        }),
      );
      if (!script) return ownAdapterOf(provider).run(request);
      return script({
        ...request,
        sleep: (ms) => instance.clock.sleep(ms, request.signal),
        die: () => {
          instance.die();
          return new Promise(() => {});
        },
      });
    },
  };
}

function ownAdapterOf(provider: Provider): ProviderAdapter {
  return provider.kind === 'remote' ? createRemoteAdapter(provider.agent) : echoAdapter;
}
