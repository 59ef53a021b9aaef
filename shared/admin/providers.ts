import * as z from 'zod';
import {
  agentsOf,
  check,
  type Decision,
  type Edition,
  MASK,
  type Provider,
  type ProviderInput,
  providerInput,
  readRecords,
  type SealedSecret,
} from '../registry/index.ts';
import { dryRunning, isLowered, Tightening } from './ceilings.ts';
import type { AdminFailure } from './failures.ts';
import {
  answerEdit,
  done,
  failed,
  ifEdition,
  type OperationParts,
  type Operations,
  operation,
} from './operation.ts';
import { missingAgents, strandedProfiles } from './profiles.ts';

const aFile = z.strictObject({ provider: z.unknown(), ifEdition, ...dryRunning });

export function providerOperations(parts: OperationParts): Operations {
  const { store, secrets, editor, log, ceilings } = parts;
  return {
    'provider.put': operation(aFile, async (input, deed) => {
      const read = check(providerInput, input.provider);
      if (read.kind === 'invalid') return failed(read);
      const file = read.value;
      const [missing] = await missingAgents(store, [file]);
      if (missing) {
        const field = file.kind === 'remote' ? 'agent' : `agents[${agentsOf(file).indexOf(missing.agent)}]`;
        const message = `${field}: there is no remote agent "${missing.agent}"`;
        return failed({ kind: 'refused', field, message });
      }
      if (input.dryRun) {
        // Its key counts for nothing here.
        const { apiKey: _, ...provider } = { apiKey: undefined, ...file };
        const proposed = { provider: provider as Provider };
        const counted = await ceilings.count(proposed, input.cursor);
        return done({ dryRun: true, ...counted, warnings: await strandedProfiles(store, proposed) });
      }
      const given = 'apiKey' in file && file.apiKey !== MASK ? file.apiKey : undefined;
      const sealed = given === undefined ? undefined : await secrets.seal(file.id, given);
      const tightening = new Tightening(parts);
      const edit = editor.edit<'provider', AdminFailure>('provider', file.id, deed, (current) =>
        input.ifEdition !== undefined && current?.edition !== input.ifEdition
          ? { kind: 'refuse', failure: { kind: 'conflict' } }
          : tightening.with(
              withSecret(file, sealed, current?.value),
              current !== undefined &&
                isLowered(current.value.answerLevel ?? 'full', file.answerLevel ?? 'full'),
              { of: 'provider', id: file.id, level: file.answerLevel ?? 'full' },
            ),
      );
      const answer = await answerEdit(edit, (saved) => ({ provider: showProvider(saved) }));
      if (answer.kind === 'failed') return answer;
      return tightening.answer(done({ ...answer.result, warnings: await strandedProfiles(store) }));
    }),

    'provider.list': operation(z.strictObject({}), async () => {
      const providers = await readRecords(store, 'provider', log);
      return done({ providers: providers.map(showProvider) });
    }),
  };
}

/** A file's provider with its key: the one given, sealed; the stored one for `***`; none if the file has none. */
function withSecret(
  file: ProviderInput,
  sealed: SealedSecret | undefined,
  current: Provider | undefined,
): Decision<Provider, AdminFailure> {
  if (file.kind !== 'openai') return { kind: 'save', value: file };
  const { apiKey, ...rest } = file;
  if (apiKey === undefined) return { kind: 'save', value: rest };
  if (sealed) return { kind: 'save', value: { ...rest, apiKey: sealed } };
  if (current?.kind !== 'openai' || !current.apiKey)
    return refuseKey('there is no stored key to keep; write the key in place of ***');
  // Who may edit a provider need not know its key, and must not be able to have it sent somewhere else.
  if (new URL(current.baseUrl).origin !== new URL(file.baseUrl).origin)
    return refuseKey('the stored key belongs to another base URL; write the key in place of ***');
  return { kind: 'save', value: { ...rest, apiKey: current.apiKey } };
}

function refuseKey(why: string): Decision<Provider, AdminFailure> {
  return { kind: 'refuse', failure: { kind: 'refused', field: 'apiKey', message: `apiKey: ${why}` } };
}

function showProvider({ value, edition }: Edition<Provider>): object {
  return 'apiKey' in value ? { ...value, apiKey: MASK, edition } : { ...value, edition };
}
