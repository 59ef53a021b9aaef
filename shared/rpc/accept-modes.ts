import type { Violation } from '../protocol/errors.ts';
import type { Part } from '../protocol/index.ts';
import type { Profile } from '../registry/index.ts';

/**
 * The parts that the profile does not take, and the accepted media types where it offers none of them; none: all fit.
 * Names the profile's own types, which its card shows, and nothing of the message.
 */
export function modesThatDoNotFit(
  profile: Pick<Profile, 'inputModes' | 'outputModes'>,
  parts: readonly Part[],
  accepted: readonly string[],
): readonly Violation[] {
  const refused = parts.flatMap((part, index) =>
    matchesAny(mediaTypeOf(part), profile.inputModes)
      ? []
      : [
          {
            field: `message.parts[${index}]`,
            description: `is of a media type other than ${profile.inputModes.join(', ')}`,
          },
        ],
  );
  const offers =
    accepted.length === 0 || accepted.some((mode) => profile.outputModes.some((own) => overlap(own, mode)));
  if (offers) return refused;
  const description = `has none of ${profile.outputModes.join(', ')}`;
  return [...refused, { field: 'configuration.acceptedOutputModes', description }];
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
