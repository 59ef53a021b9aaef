import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({
  forgotten: 'changes',
  disabled: 'changes',
  forgetful: 'changes',
  ended: 'changes',
});
