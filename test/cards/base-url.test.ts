import { describe, expect, it } from 'vitest';
import { PublicUrlUnknown, publicBaseUrl } from '../../shared/cards/index.ts';

const CARD = '/.well-known/agent-card.json';
const PROFILE_CARD = '/agents/{profile}/.well-known/agent-card.json';
const API = 'abc123.execute-api.eu-west-1.amazonaws.com';
const DOMAIN = 'agents.example.org';

interface Case {
  readonly where: string;
  readonly resource: string;
  readonly domainName: string;
  readonly path: string;
  readonly base: string;
}

const cases: Case[] = [
  { where: 'a stage', resource: CARD, domainName: API, path: `/prod${CARD}`, base: `https://${API}/prod` },
  {
    where: 'a stage, profile card',
    resource: PROFILE_CARD,
    domainName: API,
    path: `/prod/agents/translate${CARD}`,
    base: `https://${API}/prod`,
  },
  {
    where: 'a stage, RPC',
    resource: '/rpc',
    domainName: API,
    path: '/prod/rpc',
    base: `https://${API}/prod`,
  },
  {
    where: 'a stage, RPC with a trailing slash',
    resource: '/rpc',
    domainName: API,
    path: '/prod/rpc/',
    base: `https://${API}/prod`,
  },
  {
    where: 'a stage that is called like a route',
    resource: '/rpc',
    domainName: API,
    path: '/rpc/rpc',
    base: `https://${API}/rpc`,
  },
  {
    where: 'a custom domain mapped at its root to a stage',
    resource: CARD,
    domainName: DOMAIN,
    path: CARD,
    base: `https://${DOMAIN}`,
  },
  {
    where: 'a custom domain mapped at its root without a stage',
    resource: CARD,
    domainName: DOMAIN,
    path: `/prod${CARD}`,
    base: `https://${DOMAIN}/prod`,
  },
  {
    where: 'a base path mapping to a stage',
    resource: CARD,
    domainName: DOMAIN,
    path: `/a2a${CARD}`,
    base: `https://${DOMAIN}/a2a`,
  },
  {
    where: 'a base path mapping without a stage',
    resource: CARD,
    domainName: DOMAIN,
    path: `/a2a/prod${CARD}`,
    base: `https://${DOMAIN}/a2a/prod`,
  },
  {
    where: 'a base path of two levels, profile card',
    resource: PROFILE_CARD,
    domainName: DOMAIN,
    path: `/teams/a2a/agents/translate${CARD}`,
    base: `https://${DOMAIN}/teams/a2a`,
  },
];

describe('the public base URL', () => {
  it.each(cases)('is what stands before the route behind $where', ({ resource, domainName, path, base }) => {
    expect(publicBaseUrl({ resource, requestContext: { domainName, path } })).toBe(base);
  });

  it('is the configured one where it is set, without its trailing slashes', () => {
    const event = { resource: CARD, requestContext: { domainName: API, path: `/prod${CARD}` } };
    expect(publicBaseUrl(event, 'http://127.0.0.1:4000')).toBe('http://127.0.0.1:4000');
    expect(publicBaseUrl(event, 'https://agents.example.org/a2a//')).toBe('https://agents.example.org/a2a');
  });

  it('is never taken from a header of the client', () => {
    const event = {
      resource: CARD,
      headers: {
        Host: 'evil.example.net',
        'X-Forwarded-Host': 'evil.example.net',
        'X-Forwarded-Proto': 'http',
      },
      requestContext: { domainName: DOMAIN, path: CARD },
    };
    expect(publicBaseUrl(event)).toBe(`https://${DOMAIN}`);
  });

  it.each([
    { why: 'no domain name', domainName: undefined, path: CARD },
    { why: 'an empty domain name', domainName: '', path: CARD },
    { why: 'a path that is not the one of the route', domainName: DOMAIN, path: '/elsewhere' },
    { why: 'a path that is shorter than the route', domainName: DOMAIN, path: '/' },
  ])('is not guessed when the event has $why', ({ domainName, path }) => {
    expect(() => publicBaseUrl({ resource: CARD, requestContext: { domainName, path } })).toThrow(
      PublicUrlUnknown,
    );
  });
});
