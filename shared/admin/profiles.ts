import * as z from 'zod';
import {
  agentsOf,
  check,
  type Decision,
  type Deed,
  type Edition,
  effectiveSettings,
  isRetainable,
  type NamesAgents,
  type Profile,
  type Provider,
  profileInput,
  readRecord,
  readRecords,
  resolveLevel,
  type Settings,
} from '../registry/index.ts';
import type { Store } from '../storage/port.ts';
import { dryRunning, isLowered, type Proposed, Tightening } from './ceilings.ts';
import { type AdminFailure, describeFailure } from './failures.ts';
import {
  anId,
  answerEdit,
  done,
  failed,
  ifEdition,
  isPossible,
  notFound,
  type OperationParts,
  type Operations,
  operation,
} from './operation.ts';

const aProfile = z.strictObject({ id: anId });
const aFile = z.strictObject({ profile: z.unknown(), ifEdition, ...dryRunning });

export function profileOperations(parts: OperationParts): Operations {
  const { store, editor, log, ceilings } = parts;
  const setPublished = (id: string, deed: Deed, published: boolean) => {
    const edit = editor.edit<'profile', AdminFailure>('profile', id, deed, async (current) => {
      if (!current) return { kind: 'refuse', failure: notFound('profile', id) };
      const profile = { ...current.value, published };
      const failure = published ? unpublishable(profile, await surroundings(store, profile)) : undefined;
      return failure ? { kind: 'refuse', failure } : { kind: 'save', value: profile };
    });
    return answerEdit(edit, ({ value, edition }) => ({ profile: { ...value, edition } }));
  };

  return {
    'profile.put': operation(aFile, async (input, deed) => {
      const read = check(profileInput, input.profile);
      if (read.kind === 'invalid') return failed(read);
      const file = read.value;
      const around = await surroundings(store, file);
      const decide = (current: Edition<Profile> | undefined): Decision<Profile, AdminFailure> => {
        if (input.ifEdition !== undefined && current?.edition !== input.ifEdition)
          return { kind: 'refuse', failure: { kind: 'conflict' } };
        const profile = { ...file, published: current?.value.published ?? false };
        const failure = profile.published ? unpublishable(profile, around) : undefined;
        return failure ? { kind: 'refuse', failure } : { kind: 'save', value: profile };
      };
      if (input.dryRun) {
        const decision = decide(await readRecord(store, 'profile', file.id));
        if (decision.kind === 'refuse') return failed(decision.failure);
        const counted = await ceilings.count({ profile: decision.value }, input.cursor);
        return done({ dryRun: true, ...counted, warnings: warningsAbout(decision.value, around) });
      }
      const tightening = new Tightening(parts);
      const edit = editor.edit<'profile', AdminFailure>('profile', file.id, deed, (current) =>
        tightening.with(
          decide(current),
          current !== undefined && isLowered(current.value.answerLevel ?? 'full', file.answerLevel ?? 'full'),
          { of: 'profile', id: file.id, level: file.answerLevel ?? 'full' },
        ),
      );
      const answer = await answerEdit(edit, ({ value, edition }) => ({
        profile: { ...value, edition },
        warnings: warningsAbout(value, around),
      }));
      return tightening.answer(answer);
    }),

    'profile.list': operation(z.strictObject({}), async () => {
      const profiles = await readRecords(store, 'profile', log);
      return done({ profiles: profiles.map(({ value, edition }) => ({ ...value, edition })) });
    }),

    'profile.publish': operation(aProfile, async ({ id }, deed) =>
      isPossible('profile', id) ? setPublished(id, deed, true) : failed(notFound('profile', id)),
    ),

    'profile.unpublish': operation(aProfile, async ({ id }, deed) =>
      isPossible('profile', id) ? setPublished(id, deed, false) : failed(notFound('profile', id)),
    ),
  };
}

/** What decides whether a profile can be published: the settings and its providers, undefined where there is none. */
export interface Surroundings {
  readonly settings: Settings;
  readonly chain: readonly (Provider | undefined)[];
  /** Remote agents that a provider of the chain names and that are not registered. */
  readonly missing: readonly { readonly provider: string; readonly agent: string }[];
}

/** `proposed`: as a change would leave settings or a provider. */
export async function surroundings(
  store: Store,
  profile: Pick<Profile, 'providers'>,
  proposed: Proposed = {},
): Promise<Surroundings> {
  const [settings, ...chain] = await Promise.all([
    readRecord(store, 'settings', ''),
    ...profile.providers.map((id) => readRecord(store, 'provider', id)),
  ]);
  const providers = chain.map((provider, i) =>
    proposed.provider?.id === profile.providers[i] ? proposed.provider : provider?.value,
  );
  return {
    settings: proposed.settings ?? effectiveSettings(settings?.value ?? {}),
    chain: providers,
    missing: await missingAgents(store, providers),
  };
}

/** Remote agents that providers name and nobody registered. */
export async function missingAgents(
  store: Store,
  providers: readonly ((NamesAgents & { readonly id: string }) | undefined)[],
): Promise<Surroundings['missing']> {
  const named = providers.flatMap((provider) =>
    agentsOf(provider).map((agent) => ({ provider: provider?.id ?? '', agent })),
  );
  const found = await Promise.all(named.map(({ agent }) => readRecord(store, 'agent', agent)));
  return named.filter((_, index) => !found[index]);
}

/**
 * Why a profile cannot be published: no provider, an unknown one or one that names an unknown remote agent, or, at acceptance, a level at which no result can be
 * kept (design §7). Undefined: it can.
 */
export function unpublishable(
  profile: Pick<Profile, 'providers' | 'answerLevel'>,
  around: Surroundings,
): AdminFailure | undefined {
  if (profile.providers.length === 0)
    return {
      kind: 'refused',
      field: 'providers',
      message: 'providers: a published profile needs at least one',
    };
  const unknown = around.chain.indexOf(undefined);
  if (unknown >= 0)
    return { kind: 'refused', field: `providers[${unknown}]`, message: unknownProvider(profile, unknown) };
  const [missing] = around.missing;
  if (missing) {
    const field = `providers[${profile.providers.indexOf(missing.provider)}]`;
    const says = `provider "${missing.provider}" names the remote agent "${missing.agent}", which is not registered`;
    return { kind: 'refused', field, message: `${field}: ${says}` };
  }
  const why = notRetained(profile, around);
  return why ? { kind: 'refused', field: 'answerLevel', message: `answerLevel: ${why}` } : undefined;
}

function unknownProvider(profile: Pick<Profile, 'providers'>, index: number): string {
  return `providers[${index}]: there is no provider "${profile.providers[index]}"`;
}

function notRetained(
  profile: Pick<Profile, 'answerLevel'>,
  { settings, chain }: Surroundings,
): string | undefined {
  const first = chain[0];
  if (isRetainable(resolveLevel(settings.answerLevel, profile.answerLevel, first?.answerLevel)))
    return undefined;
  const source = !isRetainable(resolveLevel(settings.answerLevel))
    ? `the installation's answer level is ${settings.answerLevel}`
    : !isRetainable(resolveLevel('full', profile.answerLevel))
      ? `the profile's answer level is ${profile.answerLevel}`
      : `the answer level of provider "${first?.id}" is ${first?.answerLevel}`;
  return `${source}, which keeps no result, and a task without its result cannot be completed`;
}

/** What is not wrong yet, or only when a later provider is tried. */
function warningsAbout(profile: Profile, around: Surroundings): string[] {
  return around.chain.flatMap((provider, index) => {
    if (!provider) return [unknownProvider(profile, index)];
    if (index === 0) {
      const why = notRetained(profile, around);
      return why ? [`the profile cannot be published: ${why}`] : [];
    }
    return isRetainable(resolveLevel('full', provider.answerLevel))
      ? []
      : [`providers[${index}]: a task that reaches "${provider.id}" fails, its answer level keeps no result`];
  });
}

/** Published profiles that a change leaves without a result to keep: messages to them are refused from then on. */
export async function strandedProfiles(store: Store, proposed: Proposed = {}): Promise<string[]> {
  const profiles = await readRecords(store, 'profile');
  const published = profiles.map(({ value }) => value).filter((profile) => profile.published);
  const stranded = await Promise.all(
    published.map(async (profile) => {
      const failure = unpublishable(profile, await surroundings(store, profile, proposed));
      return failure
        ? [
            `profile "${profile.id}" is published and can no longer be called: ${describeFailure(failure).message}`,
          ]
        : [];
    }),
  );
  return stranded.flat();
}
