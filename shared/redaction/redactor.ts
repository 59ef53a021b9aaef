/** Which adapter reads a text. `pattern` needs nothing but the text; `comprehend` finds names and addresses too. */
export type RedactionMethod = 'pattern' | 'comprehend';

/** How texts are redacted: the settings and a profile's own, resolved by the caller (design §7). */
export interface RedactionOptions {
  /** Absent: `pattern`. */
  readonly method?: RedactionMethod;
  /** Words and phrases of the profile's own, found as whole words in any case; at most `MAX_WORDS`. */
  readonly words: readonly string[];
  /** Language of the texts, as Comprehend names it (`en`, `es`, …); absent: `en`. The patterns do not need it. */
  readonly language?: string;
  /** Types of Comprehend that stay (`DATE_TIME`, `URL`, …); absent: every type it knows is redacted. */
  readonly keepTypes?: readonly string[];
}

/** Words of one list. More cost time with every text that is read. */
export const MAX_WORDS = 500;
/** UTF-16 units of one word or phrase. */
export const MAX_WORD_LENGTH = 100;

/**
 * The redaction port (design §7, P9). Answers one text for each that was given, in their order: what was found is
 * replaced by a marker such as `[EMAIL]`, the rest is untouched. Redacting an answer again changes nothing, and a text
 * grows at most `MAX_GROWTH` times. Throws `RedactionUnavailable`; it never answers a text that was not looked at.
 */
export interface Redactor {
  redactTexts(texts: readonly string[], options: RedactionOptions): Promise<readonly string[]>;
}

export type RedactionFault = 'throttled' | 'unavailable' | 'configuration' | 'invalid-answer';

/**
 * Thrown when texts could not be redacted, so that they must not be kept or shown. `configuration` (no permission, a
 * language that is not offered, no such adapter) needs an administrator; the others may pass. Holds no content (P10).
 */
export class RedactionUnavailable extends Error {
  readonly tag = 'RedactionUnavailable';
  readonly reason: RedactionFault;
  readonly retryable: boolean;
  constructor(reason: RedactionFault) {
    super(`texts could not be redacted: ${reason}`);
    this.name = 'RedactionUnavailable';
    this.reason = reason;
    this.retryable = reason !== 'configuration';
  }
}

/**
 * A redactor that takes the adapter which the options name, for installations that let profiles choose. A method
 * without an adapter is `RedactionUnavailable` (`configuration`): the weaker one never stands in for it.
 */
export function redactorByMethod(adapters: Readonly<Partial<Record<RedactionMethod, Redactor>>>): Redactor {
  return {
    async redactTexts(texts, options) {
      const adapter = adapters[options.method ?? 'pattern'];
      if (!adapter) throw new RedactionUnavailable('configuration');
      return adapter.redactTexts(texts, options);
    },
  };
}
