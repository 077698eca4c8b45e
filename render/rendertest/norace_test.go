//go:build !race

package rendertest_test

const raceDetector = false
