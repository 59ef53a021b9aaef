/**
 * Redaction of what is kept and shown (design §7, P9): the port, its pattern adapter, and walkers over messages and
 * artifacts. The adapter to Amazon Comprehend is `redactor-comprehend.ts`, for composition roots.
 */
export { createPatternRedactor } from './pattern.ts';
export {
  MAX_WORD_LENGTH,
  MAX_WORDS,
  type RedactionFault,
  type RedactionMethod,
  type RedactionOptions,
  RedactionUnavailable,
  type Redactor,
  redactorByMethod,
} from './redactor.ts';
export { MAX_GROWTH } from './spans.ts';
export { type Content, redactArtifacts, redactContent, redactMessage, redactMessages } from './walk.ts';
