import { type A2AFailure, err, ok, type Result } from '../protocol/index.ts';
import type { Client, Profile } from '../registry/index.ts';
import { invalid } from './call.ts';
import type { RpcServices } from './services.ts';

/** Message metadata that names a profile where the request has no tenant (design §5, cards). */
export const SKILL_METADATA = 'sealpost/skill';

export function isGranted(client: Client, profile: string): boolean {
  return client.profiles.includes('*') || client.profiles.includes(profile);
}

/** Unknown, unpublished and not granted look alike (P11). */
const NOT_THERE: A2AFailure = invalid('tenant', 'names no profile that this client may use');

/** The published, granted profile of that name. */
export async function grantedProfile(
  services: RpcServices,
  client: Client,
  id: string,
): Promise<Result<Profile, A2AFailure>> {
  const profile = isGranted(client, id) ? await services.registry.profile(id) : undefined;
  return profile?.published ? ok(profile) : err(NOT_THERE);
}

/** A tenant on a call that names a task: a filter, never a proof of identity (T03). Absent: every own task. */
export async function checkTenant(
  services: RpcServices,
  client: Client,
  tenant: string | undefined,
): Promise<A2AFailure | undefined> {
  if (tenant === undefined) return undefined;
  const found = await grantedProfile(services, client, tenant);
  return found.ok ? undefined : found.error;
}
