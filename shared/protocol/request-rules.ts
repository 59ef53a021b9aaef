import type { Violation } from './errors.ts';
import type { Method, MethodParams } from './methods.ts';
import type { SendMessageRequest, TaskPushNotificationConfig } from './types.ts';

/** What a method asks of its params beyond the shape of its message. */
export function requestViolations<M extends Method>(method: M, params: MethodParams[M]): Violation[] {
  switch (method) {
    case 'SendMessage':
    case 'SendStreamingMessage':
      return sendViolations(params as SendMessageRequest);
    case 'CreateTaskPushNotificationConfig':
      return createViolations(params as TaskPushNotificationConfig);
    default:
      return [];
  }
}

function sendViolations(request: SendMessageRequest): Violation[] {
  const violations: Violation[] = [];
  if (request.message.role !== 'ROLE_USER') {
    violations.push({ field: 'message.role', description: 'must be ROLE_USER' });
  }
  const config = request.configuration?.taskPushNotificationConfig;
  if (config) {
    const path = 'configuration.taskPushNotificationConfig.';
    if (config.taskId !== undefined) {
      violations.push({ field: `${path}taskId`, description: 'must be empty or absent in a message' });
    }
    violations.push(...pushViolations(config, path));
  }
  return violations;
}

function createViolations(config: TaskPushNotificationConfig): Violation[] {
  const violations = pushViolations(config, '');
  if (config.taskId === undefined) violations.unshift({ field: 'taskId', description: 'is required' });
  return violations;
}

/** Characters of a webhook's token, which is stored and shown. */
export const MAX_TOKEN = 4_096;
/** Characters of a webhook's credentials, which go into a header: receivers take 8 to 16 KB of them all. */
export const MAX_CREDENTIALS = 4_096;

/**
 * What goes into a header is visible ASCII, so that no value can add a header, and bounded; the only scheme is Bearer
 * (design §6). Whether the URL may be called is the guard's question, not asked here: it answers the same for every rule,
 * and notes what was refused.
 */
function pushViolations(config: TaskPushNotificationConfig, path: string): Violation[] {
  const violations: Violation[] = [];
  const refuse = (field: string, description: string) =>
    violations.push({ field: path + field, description });
  const check = (field: string, value: string | undefined, longest: number) => {
    if (value === undefined) return;
    if (!VISIBLE_ASCII.test(value)) refuse(field, 'must be visible ASCII');
    else if (value.length > longest) refuse(field, `is longer than ${longest} characters`);
  };
  check('token', config.token, MAX_TOKEN);
  const { scheme, credentials } = config.authentication ?? {};
  if (scheme !== undefined && scheme.toLowerCase() !== 'bearer') {
    refuse('authentication.scheme', 'must be Bearer');
  }
  check('authentication.credentials', credentials, MAX_CREDENTIALS);
  return violations;
}

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
