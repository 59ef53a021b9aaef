import { type CommandParts, given, rows } from './commands.ts';
import { table } from './render.ts';

/** Who did what (design §2): the audit, which is written with each deed and taken away by nobody. */
export function addAuditCommands({ command }: CommandParts): void {
  command('audit', 'list', 'list who did what in a month, newest first', (_words, options) => ({
    operation: 'audit.list',
    input: {
      ...given(options, { month: 'month' }),
      ...(options['limit'] === undefined ? {} : { limit: Number(options['limit']) }),
    },
    show: ({ entries, next }) => {
      const shown = rows(entries).map(({ at, actor, operation, kind, id, ...facts }) => {
        const more = Object.entries(facts).map(([name, value]) => `${name}: ${[value].flat().join(', ')}`);
        return { at, actor, operation, about: `${kind} ${id}`, facts: more.join('; ') };
      });
      const hint = next === undefined ? '' : 'there are older ones: raise --limit, or ask with --json\n';
      return `${table(['at', 'actor', 'operation', 'about', 'facts'], shown)}${hint}`;
    },
  }))
    .option('--month <yyyy-mm>', 'another month than this one, UTC')
    .option('--limit <number>', 'so many entries at most, 1 to 200 (default: 50)');
}
