import { Command, CommanderError, Option } from 'commander';
import { addAgentCommands } from './agent-commands.ts';
import { addAskCommand } from './ask-agent.ts';
import { addAuditCommands } from './audit-commands.ts';
import { CommandFailure } from './command-failure.ts';
import {
  addClientCommands,
  addProfileCommands,
  addProviderCommands,
  addSettingsCommands,
  addTaskCommands,
  type CommandParts,
  type LocalCommand,
  type Request,
} from './commands.ts';
import { addDependencyCommands } from './dependency-commands.ts';
import { addGuardCommands } from './guard-check.ts';
import { addPrivacyCommands } from './privacy-commands.ts';
import { createBar } from './progress.ts';
import { addPushCommands } from './push-commands.ts';
import { printable, type Row } from './render.ts';
import { addRunCommands } from './run-commands.ts';
import type { Surroundings } from './surroundings.ts';
import { findTarget, type TargetOptions } from './target.ts';

/**
 * The administrator's command line (design §2, §9). Gives the exit code: 0, 1 for whatever went wrong, or what a command
 * of its own says (`guard check`). With `--json` the standard output is one JSON value and nothing else: the result, or
 * `{"error":{"code","message","field"?}}`.
 */
export async function runCommandLine(words: readonly string[], around: Surroundings): Promise<number> {
  const json = words.includes('--json');
  const exit = { code: 0 };
  const program = createProgram(around, json, exit);
  try {
    await program.parseAsync(words, { from: 'user' });
    return exit.code;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const failure = asFailure(error);
    if (!failure) throw error;
    report(failure, around, json);
    return 1;
  }
}

function createProgram(around: Surroundings, json: boolean, exit: { code: number }): Command {
  const program = new Command('admin')
    .description(
      'Administer a gateway: clients, profiles, providers, settings, tasks, webhooks, remote agents.',
    )
    .exitOverride()
    .configureOutput({
      writeOut: around.write,
      // A mistake is reported once, by us; help that was not asked for belongs to people.
      writeErr: (text) => (json ? undefined : around.writeError(text)),
      outputError: () => {},
    });
  const groups = new Map<string, Command>(
    Object.entries(groupDescriptions).map(([name, description]) => [
      name,
      program.command(name).description(description),
    ]),
  );
  const command: CommandParts['command'] = (group, usage, description, ask) =>
    withTarget(groups.get(group)!.command(usage).description(description)).action(
      async (...given: unknown[]) => {
        const own = given.at(-1) as Command;
        const options = own.opts<TargetOptions & Readonly<Record<string, unknown>>>();
        const request = await ask(own.args, options);
        const target = await findTarget(options, around);
        const first = (await target(request.operation, request.input)) as Row;
        const result = request.follow ? await request.follow(first, target) : first;
        showResult(request, result, around, json);
        exit.code = request.code?.(result) ?? 0;
      },
    );
  const local: LocalCommand = (group, usage, description, run) =>
    withJson(groups.get(group)!.command(usage).description(description)).action(
      async (...given: unknown[]) => {
        const own = given.at(-1) as Command;
        const { result, code, show } = await run(own.args, own.opts());
        around.write(json ? `${JSON.stringify(result)}\n` : show());
        exit.code = code;
      },
    );
  const parts: CommandParts = { around, command, bar: createBar(around, json) };
  addClientCommands(parts);
  addProfileCommands(parts);
  addProviderCommands(parts);
  addSettingsCommands(parts);
  addTaskCommands(parts);
  addPrivacyCommands(parts);
  addPushCommands(parts);
  addAgentCommands(parts);
  addRunCommands(parts);
  addDependencyCommands(parts);
  addAuditCommands(parts);
  addGuardCommands(local, around);
  addAskCommand(local, around);
  return program;
}

const groupDescriptions: Readonly<Record<string, string>> = {
  client: 'remote callers and their tokens',
  profile: 'what clients can send messages to',
  provider: 'what profiles call',
  settings: 'what holds for the whole installation',
  task: 'what operators may see and mend of tasks',
  ceiling: 'the tightening of what is kept',
  approval: 'results that a person has to approve',
  push: 'what operators may see and mend of webhooks',
  agent: 'remote agents that runs may hand steps to',
  run: 'runs that administrators start themselves',
  dependency: 'what operators may see and mend of waits for remote agents',
  audit: 'who did what',
  guard: 'what the address guard says to a URL',
};

/** On each command, so that they may stand after it. */
function withTarget(command: Command): Command {
  return withJson(command)
    .addOption(
      new Option('--url <url>', 'the gateway at this URL (token in SEALPOST_ADMIN_TOKEN)').conflicts([
        'data',
        'stack',
      ]),
    )
    .addOption(new Option('--data <folder>', 'the gateway that runs on this data folder').conflicts('stack'))
    .option('--stack <name>', 'the gateway that was deployed as this stack')
    .option('--region <region>', 'of the stack')
    .option('--aws-profile <name>', 'AWS profile to sign with');
}

function withJson(command: Command): Command {
  return command.option('--json', 'print the result as JSON and nothing else');
}

function showResult(request: Request, result: Row, around: Surroundings, json: boolean): void {
  if (json) {
    around.write(`${JSON.stringify(result)}\n`);
    return;
  }
  around.write(request.show(result));
  const warnings = result['warnings'];
  for (const warning of Array.isArray(warnings) ? warnings : [])
    around.writeError(`Warning: ${printable(String(warning))}\n`);
}

function report(failure: CommandFailure, around: Surroundings, json: boolean): void {
  const { code, message, field } = failure;
  if (json)
    around.write(`${JSON.stringify({ error: { code, message, ...(field !== undefined && { field }) } })}\n`);
  else around.writeError(`Error: ${printable(message)}\n`);
}

function asFailure(error: unknown): CommandFailure | undefined {
  if (error instanceof CommandFailure) return error;
  if (error instanceof CommanderError)
    return new CommandFailure('USAGE', error.message.replace(/^error: /, ''));
  return undefined;
}
