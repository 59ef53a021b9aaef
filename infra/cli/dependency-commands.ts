import { type CommandParts, given, rows } from './commands.ts';
import { record, table } from './render.ts';

const columns = ['dependency', 'agent', 'state', 'outcome', 'asks', 'tries', 'polls', 'next', 'deadline'];

/** Waits for remote agents, as operators see them (design §8): no content and no credential is in any answer. */
export function addDependencyCommands({ command }: CommandParts): void {
  command(
    'dependency',
    'list',
    'list what is waited for now, or all that one task waited for',
    (_words, options) => ({
      operation: 'dependency.list',
      input: given(options, { task: 'task', agent: 'agent', open: 'open' }),
      show: ({ dependencies, more }) =>
        `${table(columns, rows(dependencies))}${more === true ? 'There are more; narrow the list with --agent or --task.\n' : ''}`,
    }),
  )
    .option('--task <id>', 'those of this task, ended ones too')
    .option('--agent <id>', 'those of this remote agent')
    .option('--open', 'only those that have not ended');
  const one = (verb: string, description: string) =>
    command('dependency', `${verb} <dependency>`, description, ([dependency]) => ({
      operation: `dependency.${verb}`,
      input: { dependency },
      show: record,
    }));
  one('show', 'show one with its callback address, <task>/<turn>.<number>');
  one('poll', 'ask the remote agent now');
  one('cancel', 'tell the remote agent, and end the step as canceled');
}
