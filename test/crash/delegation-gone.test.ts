import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({
  unreachable: 'changes',
  endless: 'changes',
  forgotten: 'changes',
  disabled: 'changes',
  unopened: 'changes',
});
