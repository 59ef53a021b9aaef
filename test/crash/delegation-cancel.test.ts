import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({
  canceled: 'changes of clients too',
  canceledSeparate: 'changes of clients too',
  canceledLate: 'changes of clients too',
  canceledPair: 'changes of clients too',
});
