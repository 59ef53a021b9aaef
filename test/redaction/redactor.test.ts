import { expect, it } from 'vitest';
import { createPatternRedactor, type Redactor, redactorByMethod } from '../../shared/redaction/index.ts';

const shouting: Redactor = { redactTexts: async (texts) => texts.map((text) => text.toUpperCase()) };

it('the adapter is the one that the options name, patterns where they name none', async () => {
  const redactor = redactorByMethod({ pattern: createPatternRedactor(), comprehend: shouting });
  expect(await redactor.redactTexts(['a@b.io'], { words: [] })).toEqual(['[EMAIL]']);
  expect(await redactor.redactTexts(['a@b.io'], { method: 'pattern', words: [] })).toEqual(['[EMAIL]']);
  expect(await redactor.redactTexts(['a@b.io'], { method: 'comprehend', words: [] })).toEqual(['A@B.IO']);
});

it('an adapter that is not there is never replaced by the weaker one', async () => {
  const redactor = redactorByMethod({ pattern: createPatternRedactor() });
  await expect(redactor.redactTexts(['text'], { method: 'comprehend', words: [] })).rejects.toMatchObject({
    tag: 'RedactionUnavailable',
    reason: 'configuration',
    retryable: false,
  });
});
