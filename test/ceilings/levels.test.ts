import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AnswerLevel, isRetainable, resolveLevel } from '../../shared/registry/index.ts';
import { message } from '../server/rig.ts';
import { ask, errorOf } from '../server/scene.ts';
import {
  completing,
  failing,
  type Keeping,
  MAIL,
  REDACTED_MAIL,
  scripted,
  startKeeping,
  told,
} from './rig.ts';

const GLOBALS: readonly AnswerLevel[] = ['full', 'redacted', 'metadata', 'none'];
const OWN: readonly (AnswerLevel | undefined)[] = [undefined, ...GLOBALS];

test('of every setting, profile, provider and fallback, the one that keeps least holds', () => {
  let combinations = 0;
  for (const global of GLOBALS) {
    for (const profile of OWN) {
      for (const provider of OWN) {
        for (const fallback of OWN) {
          combinations++;
          // Spelled out: whoever says none or metadata, else redacted; the global metadata alone says nothing.
          const said = [...(global === 'metadata' ? [] : [global]), profile, provider, fallback];
          const expected = GLOBALS.findLast((level) => said.includes(level)) ?? 'full';
          const row = `${global} ${profile} ${provider} ${fallback}`;
          expect(resolveLevel(global, profile, provider, fallback), row).toBe(expected);
        }
      }
    }
  }
  expect(combinations).toBe(500);
});

describe('the level in force, from the request to the stored result', () => {
  let fails = false;
  const first = scripted(() => (fails ? failing : completing(MAIL)));
  const second = scripted(() => completing(MAIL));
  let keeping: Keeping;
  beforeAll(async () => {
    keeping = await startKeeping({ adapters: { first, second } });
  });
  afterAll(() => keeping[Symbol.asyncDispose]());

  /** One message to its end: refused, or how it ended and what of it is kept. */
  async function outcome() {
    const sent = await ask(keeping.gateway, 'alice', 'SendMessage', {
      message: message(MAIL),
      configuration: { returnImmediately: true },
    });
    if (sent.error) return errorOf(sent).own;
    await keeping.gateway.runAll();
    const { result } = await ask(keeping.gateway, 'alice', 'GetTask', { id: sent.result.task.id });
    const { state, reason } = told(result);
    if (state !== 'COMPLETED') return reason;
    const kept = result.artifacts[0].parts[0].text;
    const said = result.history.map((each: { parts: { text: string }[] }) => each.parts[0]!.text);
    return { kept, said };
  }
  const keptAs = (text: string) => ({ kept: text, said: [text, `said: ${text}`] });
  const expectedOf = (level: AnswerLevel) => keptAs(level === 'full' ? MAIL : REDACTED_MAIL);

  test.each(GLOBALS)(
    'global %s: every own level of profile and provider refuses or keeps what the table says',
    async (global) => {
      fails = false;
      for (const profile of OWN) {
        for (const provider of OWN) {
          await keeping.inForce({ global, profile, providers: { first: provider } });
          const level = resolveLevel(global, profile, provider);
          const expected = isRetainable(level) ? expectedOf(level) : 'RESULT_NOT_RETAINABLE';
          expect(await outcome(), `${global} ${profile} ${provider}`).toEqual(expected);
        }
      }
    },
    60_000,
  );

  test('a fallback counts when it is tried, and never loosens', async () => {
    fails = true;
    // Every way in which a message is accepted.
    for (const global of ['full', 'redacted', 'metadata'] as const) {
      for (const profile of [undefined, 'redacted'] as const) {
        for (const provider of [undefined, 'redacted'] as const) {
          for (const fallback of OWN) {
            await keeping.inForce({ global, profile, providers: { first: provider, second: fallback } });
            const before = second.requests.length;
            const level = resolveLevel(global, profile, provider, fallback);
            const expected = isRetainable(level) ? expectedOf(level) : 'RESULT_NOT_RETAINED';
            expect(await outcome(), `${global} ${profile} ${provider} ${fallback}`).toEqual(expected);
            // A provider whose answer could not be kept is not called.
            expect(second.requests.length - before).toBe(isRetainable(level) ? 1 : 0);
          }
        }
      }
    }
  }, 60_000);
});
