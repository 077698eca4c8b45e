//go:build !race

package box

const raceDetector = false
