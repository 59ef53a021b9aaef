import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPatternRedactor, MAX_GROWTH } from '../../shared/redaction/index.ts';

const redactor = createPatternRedactor();
const words = ['falcon', 'Project X', '田中', 'e', '😀'];
const redact = async (text: string) => (await redactor.redactTexts([text], { words }))[0]!;

const digits = (length: number) =>
  fc
    .array(fc.integer({ min: 0, max: 9 }), { minLength: length, maxLength: length })
    .map((all) => all.join(''));
const alphanumerics = (length: number) =>
  fc.string({
    unit: fc.constantFrom(...'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ0123456789'),
    minLength: length,
    maxLength: length,
  });

/** Something that must go, and the characters of it that may nowhere be found afterwards. */
const planted: fc.Arbitrary<{ text: string; marker: string }> = fc.oneof(
  alphanumerics(12).map((name) => ({ text: `${name}@mail.example.com`, marker: name })),
  digits(9).map((number) => ({
    text: `+49 ${number.slice(0, 3)} ${number.slice(3)}`,
    marker: number.slice(3),
  })),
  digits(14).map((number) => ({ text: luhn(`4${number}`), marker: number })),
  digits(18).map((account) => ({ text: iban(account), marker: account })),
  alphanumerics(36).map((secret) => ({ text: `ghp_${secret}`, marker: secret })),
  alphanumerics(43).map((secret) => ({ text: `sp_acme_${secret}`, marker: secret })),
  alphanumerics(10).map((secret) => ({ text: `password=${secret}`, marker: secret })),
  alphanumerics(10).map((secret) => ({ text: `{"apiKey": "${secret}"}`, marker: secret })),
  alphanumerics(20).map((secret) => ({ text: `Bearer ${secret}`, marker: secret })),
  alphanumerics(10).map((secret) => ({ text: `https://bob:${secret}@host.example/`, marker: secret })),
  fc
    .tuple(fc.nat(255), fc.nat(255))
    .map(([a, b]) => ({ text: `203.0.${a}.${b}`, marker: `203.0.${a}.${b}` })),
  fc.constant({ text: 'Project X', marker: 'Project X' }),
);
/** What may stand around it without joining it. */
const around = fc
  .array(
    fc.constantFrom(
      ' ',
      '\n',
      ', ',
      '; ',
      '(',
      ') ',
      ' 😀 ',
      ' über ',
      ' 漢字 ',
      ' plain text. ',
      ' [EMAIL] ',
      '"',
    ),
    { maxLength: 8 },
  )
  .map((all) => all.join(''));
/** Texts of what patterns are made of: the richest in near misses. */
const shards = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...[
          '@',
          '.',
          '-',
          '+',
          '0',
          '1',
          '49',
          '4111',
          ' ',
          ' 1111',
          'DE89',
          '3704',
          ':',
          '::',
          '1.',
          'a',
          'e',
        ],
        ...[
          'eyJ',
          'sk-',
          'password',
          '=',
          '"',
          "'",
          '\\',
          '\\"',
          '`',
          '<',
          '>',
          'token',
          ' is ',
          '--',
          '|',
          '\n',
        ],
        ...['Bearer ', '-----BEGIN PRIVATE KEY-----', '[EMAIL]', '[SECRET]', '[', ']', '[WORD', '%40', '://'],
        ...[
          'falcon',
          'project',
          ' x',
          '田中',
          '\u200b',
          '\u00ad',
          '\ue000',
          '\ud83d',
          '\ude00',
          '😀',
          '１',
          '\u0301',
        ],
        ...[
          ': ',
          ', ',
          '; ',
          '. ',
          ') ',
          ' a ',
          '\n- ',
          'tokens',
          '{',
          '[1',
          '}',
          ' for ',
          '(a) ',
          'pw',
          'pass',
        ],
        ...['&#64;', '\\u0040', '\\n', '&quot;', '&amp;', '555-1234', '12 34 56 78', '4111\n', 'value', '﹫'],
        ...['phone', 'Authorization: ', 'pin', '&sig=', '/', '(', ')', 'ann@example.com', '10.0.0.1', 'x'],
      ),
      fc.string({ maxLength: 4 }),
    ),
    { maxLength: 30 },
  )
  .map((all) => all.join(''));

describe('the pattern redactor', () => {
  it('leaves nothing of what was planted, wherever it stands', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(around, planted), { minLength: 1, maxLength: 4 }),
        around,
        async (plants, end) => {
          const text = plants.map(([before, { text }]) => `${before} ${text} `).join('') + end;
          const redacted = await redact(text);
          for (const [, { marker }] of plants) expect(redacted).not.toContain(marker);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('changes nothing that it has redacted', async () => {
    await fc.assert(
      fc.asyncProperty(shards, async (text) => {
        const redacted = await redact(text);
        expect(await redact(redacted)).toBe(redacted);
      }),
      { numRuns: 5_000 },
    );
  });

  it('never makes a text longer than its bound, nor breaks a character', async () => {
    await fc.assert(
      fc.asyncProperty(shards, async (text) => {
        const redacted = await redact(text);
        expect(redacted.length).toBeLessThanOrEqual(Math.max(text.length * MAX_GROWTH, 0));
        if (text.isWellFormed()) expect(redacted.isWellFormed()).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

function luhn(body: string): string {
  const sum = [...body].reverse().reduce((total, digit, place) => {
    const doubled = Number(digit) * (place % 2 === 0 ? 2 : 1);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return body + ((10 - (sum % 10)) % 10);
}

function iban(account: string): string {
  const check = 98n - (BigInt(`${account}131400`) % 97n);
  return `DE${String(check).padStart(2, '0')}${account}`;
}
