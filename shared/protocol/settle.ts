import { fieldsOf, isMessage } from './fields.ts';
import type { MessageName } from './messages.ts';
import { fieldPath, type Notice, Unread } from './notices.ts';
import { isUnreadPart, UNREAD_PART } from './schemas.ts';
import { UNKNOWN_STATE } from './states.ts';

type Fields = Record<string, unknown>;

/**
 * Takes every `Unread` out of a freshly decoded message, in place, and says what it was: parts of unknown kinds and
 * unreadable timestamps go, and with them messages of a task that are left without parts; an unknown state becomes
 * `TASK_STATE_UNKNOWN` (never completed), an unknown role is that of an agent.
 */
export function settle(name: MessageName, message: unknown): Notice[] {
  const notices: Notice[] = [];
  settleMessage(name, message as Fields, [], notices);
  return notices;
}

function settleMessage(name: MessageName, message: Fields, path: PropertyKey[], notices: Notice[]): void {
  for (const [json, field] of fieldsOf(name)) {
    const value = message[json];
    if (value === undefined) continue;
    if (value instanceof Unread) {
      notices.push(noticeOf(value, [...path, json]));
      settleLeaf(message, json, value);
    } else if (isMessage(field.type)) {
      const type = field.type;
      for (const [key, member] of membersOf(value, field.repeated === true || field.map === true)) {
        const memberPath = key === undefined ? [...path, json] : [...path, json, key];
        const unread = isUnreadPart(member) ? (member as Fields)[UNREAD_PART] : undefined;
        if (unread instanceof Unread) notices.push(noticeOf(unread, memberPath));
        else settleMessage(type, member as Fields, memberPath, notices);
      }
      if (type === 'Part') message[json] = (value as unknown[]).filter((part) => !isUnreadPart(part));
    }
  }
  if (name === 'TaskStatus' && saysNothing(message['message'])) delete message['message'];
  if (name === 'Task' && message['history'])
    message['history'] = (message['history'] as Fields[]).filter((one) => !saysNothing(one));
}

/** A message of a task's without any part left is no message; the task stands. */
function saysNothing(message: unknown): boolean {
  return message !== undefined && (message as { parts: unknown[] }).parts.length === 0;
}

function membersOf(value: unknown, isMany: boolean): [PropertyKey | undefined, unknown][] {
  if (!isMany) return [[undefined, value]];
  return Array.isArray(value)
    ? value.map((member, index) => [index, member])
    : Object.entries(value as Fields);
}

function settleLeaf(message: Fields, json: string, unread: Unread): void {
  if (unread.kind === 'unknown-state') {
    message[json] = UNKNOWN_STATE;
    message['unknownState'] = unread.name;
  } else if (unread.kind === 'unknown-role') {
    message[json] = 'ROLE_AGENT';
  } else {
    delete message[json];
  }
}

function noticeOf({ kind, name }: Unread, path: PropertyKey[]): Notice {
  return { kind, path: fieldPath(path), name };
}
