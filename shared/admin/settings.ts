import * as z from 'zod';
import {
  type AnswerLevel,
  check,
  effectiveSettings,
  readRecord,
  resolveLevel,
  type Settings,
  type SettingsInput,
  settingsInput,
} from '../registry/index.ts';
import { dryRunning, isLowered, Tightening } from './ceilings.ts';
import type { AdminFailure } from './failures.ts';
import { answerEdit, done, failed, type OperationParts, type Operations, operation } from './operation.ts';
import { strandedProfiles } from './profiles.ts';

const changes = z.strictObject({ settings: z.unknown(), ...dryRunning });

export function settingsOperations(parts: OperationParts): Operations {
  const { store, editor, ceilings } = parts;
  return {
    'settings.show': operation(z.strictObject({}), async () => {
      const set = (await readRecord(store, 'settings', ''))?.value ?? {};
      return done(showSettings(set));
    }),

    /** Only what is named changes; null puts a setting back to its default. */
    'settings.set': operation(changes, async (input, deed) => {
      const read = check(settingsInput, input.settings);
      if (read.kind === 'invalid') return failed(read);
      const patch = read.value as SettingsInput;
      if (patch.defaultProfile && !(await readRecord(store, 'profile', patch.defaultProfile)))
        return failed({
          kind: 'refused',
          field: 'defaultProfile',
          message: `defaultProfile: there is no profile "${patch.defaultProfile}"`,
        });
      if (input.dryRun) {
        const current = (await readRecord(store, 'settings', ''))?.value ?? {};
        const proposed = { settings: effectiveSettings(merge(current, patch)) };
        const counted = await ceilings.count(proposed, input.cursor);
        return done({ dryRun: true, ...counted, warnings: await strandedProfiles(store, proposed) });
      }
      const tightening = new Tightening(parts);
      const edit = editor.edit<'settings', AdminFailure>('settings', '', deed, (current) => {
        const value = merge(current?.value ?? {}, patch);
        const lowers = isLowered(levelOf(current?.value ?? {}), levelOf(value));
        return tightening.with({ kind: 'save', value }, lowers, { of: 'settings', level: levelOf(value) });
      });
      const answer = await answerEdit(edit, ({ value, changed }) => ({ ...showSettings(value), changed }));
      if (answer.kind === 'failed') return answer;
      return tightening.answer(done({ ...answer.result, warnings: await strandedProfiles(store) }));
    }),
  };
}

/** What the global setting comes to by itself: `metadata` keeps a full answer (design §7). */
function levelOf(set: Partial<Settings>): AnswerLevel {
  return resolveLevel(effectiveSettings(set).answerLevel);
}

function showSettings(set: Partial<Settings>): object {
  return { settings: effectiveSettings(set), set: Object.keys(set).sort() };
}

function merge(set: Partial<Settings>, patch: SettingsInput): Partial<Settings> {
  const merged = Object.entries({ ...set, ...patch }).filter(([, value]) => value !== null);
  return Object.fromEntries(merged);
}
