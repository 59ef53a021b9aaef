import type { Part } from '../protocol/index.ts';
import type { Profile } from '../registry/index.ts';

/** Whether the profile takes the message's parts and offers a media type that the caller accepts. */
export function modesFit(
  profile: Pick<Profile, 'inputModes' | 'outputModes'>,
  parts: readonly Part[],
  accepted: readonly string[],
): boolean {
  const takes = parts.every((part) => matchesAny(mediaTypeOf(part), profile.inputModes));
  const offers =
    accepted.length === 0 || accepted.some((mode) => profile.outputModes.some((own) => overlap(own, mode)));
  return takes && offers;
}

function mediaTypeOf(part: Part): string {
  if (part.mediaType) return part.mediaType;
  if (part.text !== undefined) return 'text/plain';
  return part.data !== undefined ? 'application/json' : 'application/octet-stream';
}

function matchesAny(type: string, modes: readonly string[]): boolean {
  return modes.some((mode) => overlap(mode, type));
}

/** Wildcards (any type, any subtype) and parameters are understood on both sides. */
function overlap(one: string, other: string): boolean {
  const [a, b] = [bare(one), bare(other)];
  if (a === '*/*' || b === '*/*' || a === b) return true;
  return wildcardFits(a, b) || wildcardFits(b, a);
}

function wildcardFits(pattern: string, type: string): boolean {
  return pattern.endsWith('/*') && type.startsWith(pattern.slice(0, -1));
}

function bare(type: string): string {
  return (type.split(';')[0] ?? '').trim().toLowerCase();
}
