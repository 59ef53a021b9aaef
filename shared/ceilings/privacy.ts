import type { Artifact, Message } from '../protocol/index.ts';
import { type RedactionOptions, type Redactor, redactContent } from '../redaction/index.ts';
import {
  type AnswerLevel,
  CACHE_MS,
  type Profile,
  type Registry,
  resolveLevel,
  tighter,
  underFloors,
} from '../registry/index.ts';
import type { Head } from '../tasks/formats.ts';

export interface KeptContent {
  readonly messages: readonly Message[];
  readonly artifacts: readonly Artifact[];
}

/**
 * What may be kept and shown (design §7, P9). Reads and deliveries ask it each time, so a tightening counts there within
 * the registry's cache time, before any head was touched.
 */
export interface Privacy {
  /**
   * The level in force for a task now: its ceiling, tightened by what settings, profile and tried providers say, and by
   * what they said when they were tightened last and the task was there: a looser level makes no task whole again. What
   * a profile or provider said counts in the ceiling also after it was taken away. Rejects where the registry cannot be
   * read: nothing is shown then.
   */
  levelOf(head: Pick<Head, 'ceiling' | 'profile' | 'tried' | 'createdAt'>): Promise<AnswerLevel>;
  /** Redacted copies by the rules of the task's profile. Throws `RedactionUnavailable`. */
  redact(profile: string, content: KeptContent): Promise<KeptContent>;
}

export function createPrivacy(
  registry: Pick<Registry, 'settings' | 'profile' | 'provider' | 'floors'>,
  redactor: Redactor,
): Privacy {
  return {
    async levelOf(head) {
      const [floors, settings, profile, ...providers] = await Promise.all([
        registry.floors(),
        registry.settings(),
        registry.profile(head.profile),
        ...[...new Set(head.tried)].map((id) => registry.provider(id)),
      ]);
      const own = providers.map((provider) => provider?.answerLevel);
      const now = tighter(head.ceiling, resolveLevel(settings.answerLevel, profile?.answerLevel, ...own));
      return underFloors(now, floors, head, CACHE_MS);
    },
    async redact(profile, content) {
      return redactContent(content, redactor, optionsOf(await registry.profile(profile)));
    },
  };
}

function optionsOf(profile: Profile | undefined): RedactionOptions {
  const { method, words = [], language, keepTypes } = profile?.redaction ?? {};
  return {
    words,
    ...(method ? { method } : {}),
    ...(language ? { language } : {}),
    ...(keepTypes ? { keepTypes } : {}),
  };
}
