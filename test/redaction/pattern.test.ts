import { describe, expect, it } from 'vitest';
import { createPatternRedactor } from '../../shared/redaction/index.ts';
import { redactText } from '../../shared/redaction/pattern.ts';

const redactor = createPatternRedactor();
const redact = async (text: string, words: readonly string[] = []) =>
  (await redactor.redactTexts([text], { words }))[0];

const FOUND: Record<string, readonly (readonly [text: string, redacted: string])[]> = {
  'e-mail addresses': [
    ['Write to john.doe+news@mail.example.co.uk.', 'Write to [EMAIL].'],
    ['<mailto:a@b.io>', '<mailto:[EMAIL]>'],
    ["'o_brien@example.com'", "'[EMAIL]'"],
    ['https://example.com/?to=ann%40example.com&x=1', 'https://example.com/?to=[EMAIL]&x=1'],
    ['jörg@bücher.example, 用户@例子.广告', '[EMAIL], [EMAIL]'],
    ['root@[192.0.2.1] root@192.0.2.1', '[EMAIL] [EMAIL]'],
    ['ann@example.com@example.org', '[EMAIL]'],
    ['ann\u200b@exam\u00adple.com', '[EMAIL]'],
    ['ａｎｎ＠ｅｘａｍｐｌｅ．ｃｏｍ', '[EMAIL]'],
  ],
  'telephone numbers': [
    ['+49 30 1234567', '[PHONE]'],
    ['+49 (0) 30 / 1234-567', '[PHONE]'],
    ['tel:+14155550123', 'tel:[PHONE]'],
    ['0049 30 123456, 004917112345678', '[PHONE], [PHONE]'],
    ['(415) 555-0123 or 1-415-555-0123 or 415.555.0123', '[PHONE] or [PHONE] or [PHONE]'],
    ['030 1234567; 0171/1234567; 06 12 34 56 78; 07700 900123', '[PHONE]; [PHONE]; [PHONE]; [PHONE]'],
    ['0171 1234567 0172 7654321, in 2024 06 12 34 56 78', '[PHONE] [PHONE], in 2024 [PHONE]'],
    ['Tel.: 5551234', 'Tel.: [PHONE]'],
    ['my phone number is 4155550123', 'my phone number is [PHONE]'],
    ['{"phone": "4155550123"}', '{"phone": "[PHONE]"}'],
    ['+49\u202f30\u20111234567', '[PHONE]'],
    ['+٤٩ ٣٠ ١٢٣٤٥٦٧', '[PHONE]'],
  ],
  IBANs: [
    ['DE89 3704 0044 0532 0130 00 is mine', '[IBAN] is mine'],
    ['iban=GB82WEST12345698765432', 'iban=[IBAN]'],
    ['fr14 2004 1010 0505 0001 3m02 606', '[IBAN]'],
    ['NO93-8601-1117-947', '[IBAN]'],
  ],
  'card numbers': [
    ['4111 1111 1111 1111', '[CARD]'],
    ['card:4111-1111-1111-1111.', 'card:[CARD].'],
    ['5555555555554444,12/27', '[CARD],12/27'],
    ['3782 822463 10005, 30569309025904, 4222222222222', '[CARD], [CARD], [CARD]'],
    ['6011111111111117 and 2223003122003222', '[CARD] and [CARD]'],
    ['4111 1111 1111 1111 123', '[CARD] 123'],
    ['1234 4111 1111 1111 1111', '1234 [CARD]'],
    ['id 7,4111111111111111', 'id 7,[CARD]'],
    ['４１１１１１１１１１１１１１１１', '[CARD]'],
  ],
  'IP addresses': [
    ['from 192.0.2.7:443', 'from [IP]:443'],
    ['10.0.0.0/8', '[IP]/8'],
    ['[2001:db8::1]:80, fe80::1%eth0', '[[IP]]:80, [IP]%eth0'],
    ['IPv6:2001:db8:0:0:0:0:0:1.', 'IPv6:[IP].'],
    ['::ffff:192.0.2.1', '[IP]'],
  ],
  'credentials that show what they are': [
    ['Bearer abcDEF123456789', 'Bearer [SECRET]'],
    [`sp_acme_${'aB3-'.repeat(10)}xyz`, '[SECRET]'],
    ['AKIAIOSFODNN7EXAMPLE', '[SECRET]'],
    ['wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', '[SECRET]'],
    [`ghp_${'a1B2'.repeat(9)} github_pat_${'a1'.repeat(41)}`, '[SECRET] [SECRET]'],
    ['glpat-abcdefghij1234567890', '[SECRET]'],
    ['xoxb-1234567890-abcdefghij', '[SECRET]'],
    [`https://hooks.slack.com/services/T0/B0/${'x'.repeat(24)}`, 'https://[SECRET]'],
    [`sk-proj-${'a1B2'.repeat(10)} sk-ant-api03-${'x_-9'.repeat(8)}`, '[SECRET] [SECRET]'],
    [`sk_live_${'a1'.repeat(12)} AIza${'Sy9-'.repeat(9)}`, '[SECRET] [SECRET]'],
    ['jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl', 'jwt [SECRET]'],
    ['postgres://bob:s3cr3t@db.internal/app', 'postgres://[SECRET]/app'],
    ['https://ghtoken@example/repo', 'https://[SECRET]@example/repo'],
    [
      'https://s3.example/x?a=1&X-Amz-Signature=0a1b2c&b=2',
      'https://s3.example/x?a=1&X-Amz-Signature=[SECRET]&b=2',
    ],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest', '[SECRET]\nrest'],
    ['x -----BEGIN PRIVATE KEY-----\nMIIE cut', 'x [SECRET]'],
  ],
  'values that a name gives away': [
    ['password=hunter2 user=bob', 'password=[SECRET] user=bob'],
    ['DB_PASSWORD=hunter2', 'DB_PASSWORD=[SECRET]'],
    ['{"api_key": "abc", "n": 1}', '{"api_key": "[SECRET]", "n": 1}'],
    ["{'clientSecret': 'a b c'}", "{'clientSecret': '[SECRET]'}"],
    ['{"token":12345,"n":1}', '{"token":[SECRET],"n":1}'],
    ['{\\"password\\":\\"hun ter2\\",\\"n\\":1}', '{\\"password\\":\\"[SECRET]\\",\\"n\\":1}'],
    ['password: "a \\"quoted\\" one", n', 'password: "[SECRET]", n'],
    ['password = "cut off\nnext', 'password = "[SECRET]\nnext'],
    [
      '<secret>abc</secret> <token id="1">def</token>',
      '<secret>[SECRET]</secret> <token id="1">[SECRET]</token>',
    ],
    ['run --db-password hunter2 --verbose', 'run --db-password [SECRET] --verbose'],
    ['| password | hunter2 |', '| password | [SECRET] |'],
    ['**Password:** hunter2', '**Password:** [SECRET]'],
    ['My password is hunter2 now', 'My password is [SECRET] now'],
    ['Authorization: Basic dXNlcjpwYXNz\nHost: x', 'Authorization: [SECRET]\nHost: x'],
    ['set-cookie: sid=1; Path=/\nHost: x', 'set-cookie: [SECRET]\nHost: x'],
    ['PIN: 1234, cvv 987', 'PIN: [SECRET], cvv [SECRET]'],
  ],
};

describe.each(Object.entries(FOUND))('%s', (_, cases) => {
  it.each(cases)('are replaced: %s', async (text, redacted) => {
    expect(await redact(text)).toBe(redacted);
  });
});

describe('what only looks alike stays', () => {
  it.each([
    // No addresses.
    'lodash@4.17.21, @types/node@24.1.0, @ann, root@localhost, a @ b.c',
    // No telephone numbers.
    'Order 1234567890, INV-2024-000123, #00012345, 113-4567890-1234567',
    'on 2024-05-17 10:30, 01.02.2024 12:30, 05/2024-12345, 17/05/2024',
    'call 911 or call for help; 12345678 items; 3.14159265358979',
    'hotel 12345678, 2 + 2 = 4, GMT+0200, 1700000000000',
    // Wrong check digits, and numbers longer than any card.
    'DE89370400440532013001, DE88 3704 0044 0532 0130 00, XX89370400440532013000',
    '4111 1111 1111 1112, 4111111111111112, 41111111111111110000, 0.4111111111111111',
    '4111 0111 1111 1112, 9111111111111111, 1234 5678 9012 3456',
    // No addresses of hosts.
    'v1.2.3.4, 1.2.3.4.5, 256.1.1.1, 12:30:45, std::vector, Abc::De, 1.2.3',
    // No secrets.
    'Basic information, bearer instruments, basic read/write access',
    'max_tokens=100, tokens: 512, the secretary: Ann, token budget: 5, compass: north',
    'the password is required; PASSWORD: true; password: string',
    'https://example.com:8080/@ann https://medium.com/@ann',
    'da39a3ee5e6b4b0d3255bfef95601890afd80709, 550e8400-e29b-41d4-a716-446655440000',
    'sk-learn, shipping: 1234, pinned 1234',
    '{"kind":"token","of":["password","secret"]}',
    '-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----',
    '[note] [email] and [SECRETS]',
    '😀 漢字 é',
    '',
  ])('%s', async (text) => {
    expect(await redact(text)).toBe(text);
  });
});

describe('the words of a list', () => {
  it.each([
    ['Falcon, FALCON and falcon', ['falcon'], '[WORD], [WORD] and [WORD]'],
    [
      'falcons, superfalcon, falcon9, falcon-1, project_falcon',
      ['falcon'],
      'falcons, superfalcon, falcon9, [WORD]-1, project_[WORD]',
    ],
    ['Project   Falcon\nproject\nfalcon', ['project falcon'], '[WORD]\n[WORD]'],
    ['Müller, MU\u0308LLER, Müllers', ['müller'], '[WORD], [WORD], Müllers'],
    ['STRASSE straße', ['Straße'], '[WORD] [WORD]'],
    ['田中さんとFalconさん', ['田中', 'falcon'], '[WORD]さんと[WORD]さん'],
    ['C++, R&D, a.b, axb (x)', ['c++', 'r&d', 'a.b', '(x)'], '[WORD], [WORD], [WORD], axb [WORD]'],
    ['short shorter', ['short', 'shorter'], '[WORD] [WORD]'],
    ['the email: [EMAIL] a@b.io', ['email'], 'the [WORD]: [EMAIL] [EMAIL]'],
    ['a name: [NAME]', ['name'], 'a [WORD]: [NAME]'],
    ['anything', ['', ' '], 'anything'],
  ])('are replaced whole, in any case and script: %s', async (text, words, redacted) => {
    expect(await redact(text, words)).toBe(redacted);
  });
});

describe('findings that overlap', () => {
  it.each([
    ['password=ann@example.com', 'password=[SECRET]'],
    ['token: "4111111111111111"', 'token: "[SECRET]"'],
    ['user falcon@example.com', 'user [EMAIL]'],
  ])('become one marker, named by the graver: %s', async (text, redacted) => {
    expect(await redact(text, ['falcon'])).toBe(redacted);
  });
});

it('answers one text for each, in order', async () => {
  expect(await redactor.redactTexts(['a@b.io', 'plain', 'a@b.io'], { words: [] })).toEqual([
    '[EMAIL]',
    'plain',
    '[EMAIL]',
  ]);
  expect(await redactor.redactTexts([], { words: [] })).toEqual([]);
});

it('withholds a text whole that yields new findings pass after pass', () => {
  const first = (text: string) => {
    const start = text.search(/[a-z]/);
    return start === -1 ? [] : [{ start, end: start + 1, label: 'WORD' as const }];
  };
  expect(redactText('abc', first)).toBe('[WORD][WORD][WORD]');
  expect(redactText('abcdefghijklmnopqrstuvwxyz', first)).toBe('[TEXT]');
});
