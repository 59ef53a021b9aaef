import * as z from 'zod';
import {
  check,
  effectiveSettings,
  readRecord,
  type Settings,
  type SettingsInput,
  settingsInput,
} from '../registry/index.ts';
import type { AdminFailure } from './failures.ts';
import { answerEdit, done, failed, type OperationParts, type Operations, operation } from './operation.ts';
import { strandedProfiles } from './profiles.ts';

const changes = z.strictObject({ settings: z.unknown() });

export function settingsOperations({ store, editor }: OperationParts): Operations {
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
      const edit = editor.edit<'settings', AdminFailure>('settings', '', deed, (current) => ({
        kind: 'save',
        value: merge(current?.value ?? {}, patch),
      }));
      const answer = await answerEdit(edit, ({ value, changed }) => ({ ...showSettings(value), changed }));
      if (answer.kind === 'failed') return answer;
      return done({ ...answer.result, warnings: await strandedProfiles(store) });
    }),
  };
}

function showSettings(set: Partial<Settings>): object {
  return { settings: effectiveSettings(set), set: Object.keys(set).sort() };
}

function merge(set: Partial<Settings>, patch: SettingsInput): Partial<Settings> {
  const merged = Object.entries({ ...set, ...patch }).filter(([, value]) => value !== null);
  return Object.fromEntries(merged);
}
