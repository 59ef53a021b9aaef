import type { Violation } from './errors.ts';
import type { Method, MethodParams } from './methods.ts';
import type { SendMessageRequest, TaskPushNotificationConfig } from './types.ts';

/** What a method asks of its params beyond the shape of its message. */
export function requestViolations<M extends Method>(
  method: M,
  params: MethodParams[M],
  options: { readonly allowHttpPush?: boolean },
): Violation[] {
  switch (method) {
    case 'SendMessage':
    case 'SendStreamingMessage':
      return sendViolations(params as SendMessageRequest, options);
    case 'CreateTaskPushNotificationConfig':
      return createViolations(params as TaskPushNotificationConfig, options);
    default:
      return [];
  }
}

function sendViolations(request: SendMessageRequest, options: { allowHttpPush?: boolean }): Violation[] {
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
    violations.push(...pushViolations(config, path, options));
  }
  return violations;
}

function createViolations(
  config: TaskPushNotificationConfig,
  options: { allowHttpPush?: boolean },
): Violation[] {
  const violations = pushViolations(config, '', options);
  if (config.taskId === undefined) violations.unshift({ field: 'taskId', description: 'is required' });
  return violations;
}

/**
 * A push URL is https (stricter than the proto on purpose) and carries no credential; what goes into a header is
 * visible ASCII, so that no value can add a header; the only scheme is Bearer (design §6). Whether the address may
 * be called is the guard's question, not asked here.
 */
function pushViolations(
  config: TaskPushNotificationConfig,
  path: string,
  { allowHttpPush = false }: { allowHttpPush?: boolean },
): Violation[] {
  const violations: Violation[] = [];
  const refuse = (field: string, description: string) =>
    violations.push({ field: path + field, description });
  const url = URL.parse(config.url);
  if (url?.protocol !== 'https:' && !(allowHttpPush && url?.protocol === 'http:')) {
    refuse('url', 'must be an https URL');
  } else if (url.username !== '' || url.password !== '') {
    refuse('url', 'must not hold a user name or password');
  }
  if (config.token !== undefined && !VISIBLE_ASCII.test(config.token)) {
    refuse('token', 'must be visible ASCII');
  }
  const { scheme, credentials } = config.authentication ?? {};
  if (scheme !== undefined && scheme.toLowerCase() !== 'bearer') {
    refuse('authentication.scheme', 'must be Bearer');
  }
  if (credentials !== undefined && !VISIBLE_ASCII.test(credentials)) {
    refuse('authentication.credentials', 'must be visible ASCII');
  }
  return violations;
}

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
