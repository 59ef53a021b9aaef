import { type CommandParts, given, rows } from './commands.ts';
import { record, table } from './render.ts';

const columns = ['config', 'client', 'state', 'reason', 'since', 'next', 'attempts', 'notBefore'];

/** What operators may see and mend of webhooks (design §6): no URL, no body, no credential is in any answer. */
export function addPushCommands({ command }: CommandParts): void {
  command('push', 'list', 'list paused and stopped webhooks, or all of one task', (_words, options) => ({
    operation: 'push.list',
    input: given(options, { state: 'state', task: 'task' }),
    show: ({ configs }) => table(columns, rows(configs)),
  }))
    .option('--state <state>', 'only paused or only stopped ones')
    .option('--task <id>', 'those of this task, active ones too');
  command('push', 'show <config>', 'show jobs and attempts of a webhook, <task>/<config>', ([config]) => ({
    operation: 'push.show',
    input: { config },
    show: record,
  }));
  command(
    'push',
    'resume <config>',
    'let a paused webhook go on with what it was not sent yet',
    ([config]) => ({ operation: 'push.resume', input: { config }, show: record }),
  );
  command(
    'push',
    'retry <job>',
    'make a new job of one that ended undelivered, <task>/<config>/<revision>',
    ([job]) => ({ operation: 'push.retry', input: { job }, show: record }),
  );
}
