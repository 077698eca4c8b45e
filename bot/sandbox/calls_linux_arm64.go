package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// olderCalls returns the denied calls that only this architecture has.
func olderCalls() []uintptr { return nil }
