import type { A2AClient } from '../../shared/client/index.ts';
import { collect, MESSAGE, type Reply, result, status, stream, task } from './fake-agent.ts';

const PUSH = { taskId: 't-1', url: 'https://hooks.example.com/a2a' };

/** All eleven, each with the params it needs and an answer that fits. */
export const METHODS: ReadonlyArray<readonly [string, (client: A2AClient) => Promise<unknown>, Reply]> = [
  ['SendMessage', (c) => c.sendMessage({ message: MESSAGE }), result({ task: task('TASK_STATE_WORKING') })],
  [
    'SendStreamingMessage',
    (c) => collect(c.sendStreamingMessage({ message: MESSAGE })),
    stream([{ result: status('TASK_STATE_COMPLETED') }]),
  ],
  ['GetTask', (c) => c.getTask({ id: 't-1' }), result(task('TASK_STATE_WORKING'))],
  ['ListTasks', (c) => c.listTasks({}), result({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 })],
  ['CancelTask', (c) => c.cancelTask({ id: 't-1' }), result(task('TASK_STATE_CANCELED'))],
  [
    'SubscribeToTask',
    (c) => collect(c.subscribeToTask({ id: 't-1' })),
    stream([{ result: status('TASK_STATE_COMPLETED') }]),
  ],
  ['CreateTaskPushNotificationConfig', (c) => c.createPushConfig(PUSH), result({ ...PUSH, id: 'p-1' })],
  [
    'GetTaskPushNotificationConfig',
    (c) => c.getPushConfig({ taskId: 't-1', id: 'p-1' }),
    result({ ...PUSH, id: 'p-1' }),
  ],
  ['ListTaskPushNotificationConfigs', (c) => c.listPushConfigs({ taskId: 't-1' }), result({ configs: [] })],
  ['DeleteTaskPushNotificationConfig', (c) => c.deletePushConfig({ taskId: 't-1', id: 'p-1' }), result({})],
  [
    'GetExtendedAgentCard',
    (c) => c.getExtendedAgentCard({}),
    result({
      name: 'A',
      capabilities: {},
      supportedInterfaces: [
        { url: 'https://a.example.com/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      ],
    }),
  ],
];
