import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../infra/cli/program.ts';
import type { AddressResolver } from '../../shared/guard/index.ts';
import { scriptedResolver } from '../guard/receiver.ts';

interface TextVector {
  readonly url: string;
  readonly verdict: 'allow' | 'refuse';
  readonly rule?: string;
  readonly why: string;
  readonly ownHosts?: readonly string[];
  readonly allowedPorts?: readonly number[];
  readonly allowHosts?: readonly string[];
  readonly trustedHosts?: readonly string[];
  readonly loopback?: boolean;
}
interface AnswersVector {
  readonly answers: readonly string[];
  readonly verdict: 'allow' | 'refuse' | 'retry';
  readonly addressClass?: string;
  readonly trusted?: boolean;
}
const vectorsOf = <T>(name: string) =>
  (
    JSON.parse(readFileSync(new URL(`../../fixtures/guard/${name}.json`, import.meta.url), 'utf8')) as {
      vectors: T[];
    }
  ).vectors;

/** No name is ever asked for here that a test did not write down. */
async function check(words: readonly string[], resolver: AddressResolver = scriptedResolver({})) {
  const output = { out: '', err: '' };
  const code = await runCommandLine(['guard', 'check', ...words], {
    write: (text) => {
      output.out += text;
    },
    writeError: (text) => {
      output.err += text;
    },
    readInput: async () => '',
    environment: {},
    folder: '/nowhere',
    resolver,
  });
  return { code, ...output };
}
const many = (option: string, values: readonly (string | number)[] = []) =>
  values.length > 0 ? [option, ...values.map(String)] : [];
const exit = { allow: 0, refuse: 1, retry: 2 } as const;
const brief = (text: string) => JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);

describe('guard check', () => {
  // Loopback and trusted hosts are for no webhook, so the command has no option for them.
  const texts = vectorsOf<TextVector>('text').filter((one) => !one.loopback && !one.trustedHosts);
  it.each(texts.map((vector) => [vector.verdict, vector.rule ?? '', brief(vector.url), vector] as const))(
    '%s %s: %s',
    async (_verdict, _rule, _url, { url, verdict, rule, ...policy }) => {
      const { code, out, err } = await check([
        '--json',
        '--resolve',
        '8.8.8.8',
        ...many('--own-host', policy.ownHosts ?? ['gw.example.net']),
        ...many('--port', policy.allowedPorts),
        ...many('--host', policy.allowHosts),
        '--',
        url,
      ]);
      expect({ code, err, answer: JSON.parse(out) }).toEqual({
        code: exit[verdict],
        err: '',
        answer: { verdict, rule: rule ?? null },
      });
    },
  );

  // One empty answer cannot be written apart from none.
  const answers = vectorsOf<AnswersVector>('answers')
    .filter((one) => !one.trusted)
    .filter((one) => one.answers.join() !== '' || one.answers.length === 0);
  it.each(
    answers.map((vector) => [vector.verdict, vector.answers.join(',') || 'no answer', vector] as const),
  )('%s: a name with %s', async (_verdict, given, { verdict, addressClass }) => {
    const resolve = given === 'no answer' ? '' : given;
    const { code, out } = await check(['https://hooks.example.com/', '--resolve', resolve, '--json']);
    expect(code).toBe(exit[verdict]);
    expect(JSON.parse(out)).toEqual({
      verdict,
      rule: verdict === 'refuse' ? 'address' : null,
      ...(addressClass && { addressClass }),
      ...(verdict === 'retry' && { reason: 'empty' }),
    });
  });

  it('has vectors to hold to', () => {
    expect(texts.length).toBeGreaterThan(30);
    expect(answers.length).toBeGreaterThan(30);
  });

  it('asks DNS once where no answers are given, and only for a text that passes', async () => {
    const resolver = scriptedResolver({ 'hooks.example.com': [['10.0.0.1'], ['8.8.8.8']] });
    const refused = await check(['https://hooks.example.com/', '--json'], resolver);
    expect(refused).toMatchObject({ code: 1 });
    expect(JSON.parse(refused.out)).toEqual({ verdict: 'refuse', rule: 'address', addressClass: 'private' });
    expect((await check(['https://printer.local/', '--json'], resolver)).code).toBe(1);
    expect(resolver.asked).toEqual(['hooks.example.com']);
    expect((await check(['https://hooks.example.com/', '--json'], resolver)).code).toBe(0);
  });

  it('neither allows nor refuses a name without addresses: exit code 2', async () => {
    const unknown = await check(['https://nobody.example.com/', '--json']);
    expect(unknown.code).toBe(2);
    expect(JSON.parse(unknown.out)).toEqual({ verdict: 'retry', rule: null, reason: 'not-found' });
  });

  it('says why in words for people', async () => {
    const refused = await check(['https://hooks.example.com:8443/', '--resolve', '8.8.8.8']);
    expect(refused).toMatchObject({ code: 1, err: '' });
    expect(refused.out).toMatch(/│ rule +│ port +│/);
    expect(refused.out).toContain('a port that is not open for the client');
  });

  it.each([['--port', 'many'], ['--unknown'], []])(
    'tells a mistake of its caller from a refusal: %j',
    async (...more) => {
      const words = more.length > 0 ? ['https://hooks.example.com/', '--resolve', '8.8.8.8', ...more] : [];
      const { code, out } = await check(['--json', ...words]);
      expect(code).toBe(1);
      expect(JSON.parse(out)).toMatchObject({ error: { code: 'USAGE' } });
    },
  );
});
