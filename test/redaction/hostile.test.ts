import { expect, it } from 'vitest';
import { createPatternRedactor, MAX_WORDS } from '../../shared/redaction/index.ts';

const redactor = createPatternRedactor();
const words = Array.from({ length: MAX_WORDS - 2 }, (_, index) => `word${index} falcon${index} x`);
const options = { words: [...words, 'project falcon', 'x'] };
const LENGTH = 200_000;
/** Over ten times what the slowest takes. What is quadratic takes half a minute and more at this length. */
const MAX_CPU_MS = 3_000;

/** Repeated, each makes a detector begin, or go on, at as many places as it can. */
const HOSTILE = [
  ...[
    'a',
    '1',
    ' ',
    '\n',
    '.',
    '-',
    '+',
    '0',
    '00',
    '(0',
    '"',
    '`',
    '\\',
    '[',
    '=',
    'é',
    '\u0301',
    '漢',
    '😀',
  ],
  ...['@', 'a@', 'a@b', 'a@b.c@', 'a.b', '%40', 'a%40b', 'a-', '@b.', '\u200b', 'a\u200b'],
  ...['+1', '+4 ', '01 ', '1 ', '1234 ', '4111 1111 1111 1112 ', 'phone ', 'phone number ', 'call me at '],
  ...['DE89', 'DE89 ', 'DE89 3704 ', 'A1', ':', '::', 'a:', '1.', '1.1.1.1.', 'aB1/'],
  ...['://', 'a://a:', 'a://a:b', '://a', 'eyJ', 'eyJaaaaaaaa.', 'eyJ-', 'sk-', 'sp_aaaa_', '?sig='],
  ...['-----BEGIN ', '-----BEGIN PRIVATE KEY-----', 'bearer ', 'hooks.slack.com/services/'],
  ...['password', 'password=', 'password="', 'password=\'"', 'password=\\"', 'password=\\\\\\"', '--token '],
  ...['token is ', '<password ', 'authorization:', 'cookie:"', 'pin:1', '[EMAIL]', '[SECRET'],
  ...[
    'password: a ',
    'password: a) ',
    'a(b) ',
    'password: a f(b) ',
    'password:\n- a\n',
    'password:[',
    'passwords:{"',
  ],
  ...['password for a ', 'password (', '</td><td>', 'password</td> <td ', '"password" value', 'password a '],
  ...['&#64;', '&amp;', '&amp;amp;', '\\u0040', '\\u005c', '\\n', '%40', '%25', '%2525', 'a&', 'a=', 'a&b='],
  ...[
    '"a"@',
    '\\"a\\"@',
    '"a',
    '""@a.io',
    '٣',
    '\u00ad1',
    '﹫',
    '𝐚',
    '·',
    '4111\n',
    '4 ',
    '3782-',
    '12 34 56 78 ',
  ],
  ...[
    'DE89  3704--',
    'DE8\u00ad',
    '555-1234 ',
    'contact: 612345678, ',
    'phoneNumbers ',
    '01711234567 ',
    '(11) ',
  ],
  ...['550e8400-e29b-41d4-a716-446655440000 ', 'Projekt-', 'project_', 'project\u00adfalcon '],
  ...['word1 ', 'word499 falcon499 ', 'project ', 'project falcon', 'x'],
];

it.each(HOSTILE)('takes a time that grows with the text, not with its square: %j', async (unit) => {
  const text = unit.repeat(LENGTH / unit.length);
  const before = process.cpuUsage();
  await redactor.redactTexts([text], options);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(MAX_CPU_MS);
});
