import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkText, type TextPolicy } from '../../shared/guard/index.ts';

interface Vector extends Partial<TextPolicy> {
  readonly url: string;
  readonly verdict: 'allow' | 'refuse';
  readonly rule?: string;
  readonly why: string;
}

const file = new URL('../../fixtures/guard/text.json', import.meta.url);
const { vectors }: { vectors: Vector[] } = JSON.parse(readFileSync(file, 'utf8'));
const policy: TextPolicy = { ownHosts: ['gw.example.net'], allowedPorts: [], loopback: false };

describe('the text of a URL', () => {
  it.each(
    vectors.map(
      (vector) => [vector.verdict, vector.rule ?? '', brief(vector.url), vector.why, vector] as const,
    ),
  )('%s %s: %s (%s)', (_verdict, _rule, _url, _why, { url, verdict, rule, why: _, ...changes }) => {
    const result = checkText(url, { ...policy, ...changes });
    expect(result).toMatchObject(rule === undefined ? { verdict } : { verdict, rule });
  });

  it('is allowed with the parsed URL and the bare host to connect to', () => {
    const named = checkText('HTTPS://Hooks.Example.COM/a2a?x=1', policy);
    expect(named).toMatchObject({ host: 'hooks.example.com', loopback: false });
    expect(named.verdict === 'allow' && named.url.href).toBe('https://hooks.example.com/a2a?x=1');
    const literal = checkText('http://[::1]:8080/', { ...policy, loopback: true });
    expect(literal).toMatchObject({ host: '::1', loopback: true });
  });
});

function brief(url: string): string {
  return JSON.stringify(url.length > 80 ? `${url.slice(0, 77)}...` : url);
}
