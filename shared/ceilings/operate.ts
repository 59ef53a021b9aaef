import type { Profile, Provider, Registry, Settings } from '../registry/index.ts';
import type { HeadCursor } from '../tasks/all-heads.ts';
import type { TaskServices } from '../tasks/services.ts';
import { countTouched, type Touched } from './apply.ts';
import { readCeilingJob } from './job.ts';
import { createPrivacy } from './privacy.ts';

const LOOKED_AT =
  'every task was looked at; it looks again, for what functions made that knew the older level';

/** A tightening's job as an administrator sees it: counts and times, ISO, UTC. Undefined: there never was one. */
export async function showCeilingJob(
  services: Pick<TaskServices, 'store' | 'clock'>,
): Promise<object | undefined> {
  const job = await readCeilingJob(services);
  if (!job) return undefined;
  const { pass, total, looked, lowered, redacted, ended, purged, failed } = job;
  const waits = services.clock.now() < job.from;
  const state = job.doneAt !== undefined ? 'done' : waits ? 'waiting' : 'running';
  return {
    ...{ state, pass, total, looked, lowered, redacted, ended, purged, failed },
    ...(state === 'waiting' && pass > 1 ? { note: LOOKED_AT } : {}),
    startedAt: iso(job.startedAt),
    ...(state === 'waiting' ? { waitsUntil: iso(job.from) } : {}),
    ...(job.doneAt === undefined ? {} : { doneAt: iso(job.doneAt) }),
  };
}

/** Records as a change would leave them; what is absent stays as it is. */
export interface ProposedLevels {
  readonly settings?: Settings;
  readonly profile?: Profile;
  readonly provider?: Provider;
}

/** How many tasks a change would touch, from the cursor on until `until` (epoch ms). Changes nothing. */
export function countProposed(
  services: Pick<TaskServices, 'store' | 'clock'> & {
    readonly registry: Pick<Registry, 'settings' | 'profile' | 'provider' | 'floors'>;
  },
  { settings, profile, provider }: ProposedLevels,
  cursor: HeadCursor | undefined,
  until: number,
): Promise<Touched> {
  const { registry } = services;
  const privacy = createPrivacy(
    {
      floors: () => registry.floors(),
      settings: async () => settings ?? registry.settings(),
      profile: async (id) => (profile?.id === id ? profile : registry.profile(id)),
      provider: async (id) => (provider?.id === id ? provider : registry.provider(id)),
    },
    { redactTexts: () => Promise.reject(new Error('a count redacts nothing')) },
  );
  return countTouched({ ...services, privacy }, cursor, until);
}

const iso = (ms: number): string => new Date(ms).toISOString();
