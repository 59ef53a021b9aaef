import { describe, expect, test, vi } from 'vitest';
import { createPrivacy } from '../../shared/ceilings/index.ts';
import { RedactionUnavailable } from '../../shared/redaction/index.ts';
import { message } from '../server/rig.ts';
import { ask, errorOf } from '../server/scene.ts';
import { completing, MAIL, REDACTED_MAIL, scripted, startKeeping } from './rig.ts';

vi.setConfig({ testTimeout: 30_000 });

const levels = { profile: 'redacted' } as const;
const raw = Buffer.from('%PDF-1.7').toString('base64');

/** The kinds of items whose opened content holds the word: `M` message, `A` result, `W` working state. */
async function kindsWith(
  keeping: Awaited<ReturnType<typeof startKeeping>>,
  word: string,
): Promise<{ readonly items: string[]; readonly opened: number }> {
  const { state } = await keeping.dump();
  const opened = (await keeping.readable()).filter((text) => text.includes(word)).length;
  return { items: [...new Set(state.map(({ pk }) => pk[0]!))].sort(), opened };
}

describe('a profile whose level is redacted', () => {
  test('stores the original of its prompt as working state only, which nobody opens once the run ended', async () => {
    let during: { items: string[]; opened: number } | undefined;
    const only = scripted(async ({ message: { parts }, progress }) => {
      await progress(`asking ${MAIL}`);
      during = await kindsWith(keeping, MAIL);
      return completing(`for ${parts[0]?.text}`);
    });
    const keeping = await startKeeping({ adapters: { only }, levels });
    await using _keeping = keeping;
    const { result } = await ask(keeping.gateway, 'alice', 'SendMessage', {
      message: message(`write to ${MAIL}`),
      configuration: { returnImmediately: true },
    });
    await keeping.gateway.runAll();
    expect(only.requests[0]!.message.parts[0]!.text).toBe(`write to ${MAIL}`);
    // Prompt and words on the way: each stands once in full, in the working state.
    expect(during).toEqual({ items: expect.arrayContaining(['M', 'W']), opened: 2 });
    expect(await keeping.found(MAIL)).toEqual([]);
    const { result: task } = await ask(keeping.gateway, 'alice', 'GetTask', { id: result.task.id });
    expect(JSON.stringify(task)).not.toContain(MAIL);
    expect(task.artifacts[0].parts[0].text).toBe(`for write to ${REDACTED_MAIL}`);
    // The sealed remains stand until the purge.
    expect((await kindsWith(keeping, MAIL)).items).toContain('W');
  });

  test('never writes the original of a result to a result item', async () => {
    const only = scripted(() => completing(MAIL));
    await using keeping = await startKeeping({ adapters: { only }, levels, profile: { approval: 'result' } });
    await keeping.send('go');
    await keeping.gateway.runAll();
    // A draft waits: in full, but as working state.
    const { state } = await keeping.dump();
    expect(state.filter(({ pk }) => pk.startsWith('A#'))).toEqual([]);
    expect((await keeping.readable()).filter((text) => text.includes(MAIL))).toHaveLength(1);
  });

  test('replaces binary parts by a text that names them, and redacts strings inside data', async () => {
    const only = scripted(() => ({
      kind: 'completed',
      artifacts: [
        {
          parts: [
            { raw, filename: 'offer.pdf', mediaType: 'application/pdf' },
            { data: { to: MAIL, list: [1, MAIL] } },
          ],
        },
      ],
    }));
    await using keeping = await startKeeping({ adapters: { only }, levels });
    const id = await keeping.send('go');
    await keeping.gateway.runAll();
    const { result } = await ask(keeping.gateway, 'alice', 'GetTask', { id });
    const [file, data] = result.artifacts[0].parts;
    expect(file).not.toHaveProperty('raw');
    expect(file.text).toMatch(/offer\.pdf.*application\/pdf/);
    expect(data.data).toEqual({ to: REDACTED_MAIL, list: [1, REDACTED_MAIL] });
    expect(await keeping.found(raw, MAIL)).toEqual([]);
  });

  test('redacts words of its own list', async () => {
    const only = scripted(() => completing('about Project Nightingale'));
    const redaction = { words: ['project nightingale'] };
    await using keeping = await startKeeping({ adapters: { only }, levels, profile: { redaction } });
    const id = await keeping.send('go');
    await keeping.gateway.runAll();
    const { result } = await ask(keeping.gateway, 'alice', 'GetTask', { id });
    expect(result.artifacts[0].parts[0].text).toBe('about [WORD]');
  });

  test('takes no message that it cannot redact: 503, and nothing is stored', async () => {
    await using keeping = await startKeeping({
      adapters: { only: scripted(() => completing(MAIL)) },
      levels,
    });
    const { services } = keeping.gateway;
    const redactTexts = () => Promise.reject(new RedactionUnavailable('configuration'));
    (services as { privacy: typeof services.privacy }).privacy = createPrivacy(services.registry, {
      redactTexts,
    });
    const asked = await ask(keeping.gateway, 'alice', 'SendMessage', { message: message(MAIL) });
    expect(asked.status).toBe(503);
    const { state, view, outbox } = await keeping.dump();
    expect([...state, ...view, ...outbox]).toEqual([]);
    // What an administrator has to mend is named.
    expect(JSON.stringify(keeping.gateway.log.lines)).toContain('RedactionUnavailable (configuration)');
  });

  test('refuses a message that is too large to be kept beside its original', async () => {
    await using keeping = await startKeeping({
      adapters: { only: scripted(() => completing('ok')) },
      levels,
    });
    const asked = await ask(keeping.gateway, 'alice', 'SendMessage', {
      message: message('word '.repeat(400_000)),
    });
    expect(errorOf(asked)).toMatchObject({ code: -32602, field: 'message.parts' });
    expect((await keeping.dump()).state).toEqual([]);
  });
});
