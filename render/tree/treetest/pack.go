package treetest

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // Git's ids are made with it
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
)

// pack collects the new objects of a commit. Two files a commit take far less time than a file and a folder an object.
type pack struct {
	known   map[[sha1.Size]byte]bool // objects of this pack and former ones
	entries []packed
}

// packed is an object as it is in a pack.
type packed struct {
	id     [sha1.Size]byte
	data   []byte
	offset uint32
}

// add adds an object, unless it is there, and returns its id.
func (p *pack) add(kind string, data []byte) []byte {
	id := sha1.Sum(append(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data...)) //nolint:gosec // as above
	if p.known[id] {
		return id[:]
	}
	p.known[id] = true
	number := map[string]byte{"commit": 1, "tree": 2, "blob": 3}[kind]
	size := len(data)
	out := []byte{number<<4 | byte(size&15)}
	for size >>= 4; size > 0; size >>= 7 {
		out[len(out)-1] |= 0x80
		out = append(out, byte(size&0x7f))
	}
	p.entries = append(p.entries, packed{id: id, data: append(out, stored(data)...)})
	return id[:]
}

// stored is a zlib stream that compresses nothing.
func stored(data []byte) []byte {
	const most = 1<<16 - 1
	out, rest := []byte{0x78, 0x01}, data
	for last := false; !last; {
		block := rest[:min(most, len(rest))]
		rest = rest[len(block):]
		last = len(rest) == 0
		flag := byte(0)
		if last {
			flag = 1
		}
		out = binary.LittleEndian.AppendUint16(append(out, flag), uint16(len(block)))
		out = append(binary.LittleEndian.AppendUint16(out, ^uint16(len(block))), block...)
	}
	return binary.BigEndian.AppendUint32(out, adler32.Checksum(data))
}

// write writes the pack and its index to a folder.
func (p *pack) write(dir string) error {
	number := binary.BigEndian.AppendUint32
	data := number(number([]byte("PACK"), 2), uint32(len(p.entries)))
	for i := range p.entries {
		p.entries[i].offset = uint32(len(data))
		data = append(data, p.entries[i].data...)
	}
	sum := sha1.Sum(data) //nolint:gosec // as above
	data = append(data, sum[:]...)

	slices.SortFunc(p.entries, func(a, b packed) int { return bytes.Compare(a.id[:], b.id[:]) })
	index := number([]byte("\xfftOc"), 2)
	for first := range 256 {
		upTo := 0
		for _, e := range p.entries {
			if int(e.id[0]) <= first {
				upTo++
			}
		}
		index = number(index, uint32(upTo))
	}
	for _, e := range p.entries {
		index = append(index, e.id[:]...)
	}
	for _, e := range p.entries {
		index = number(index, crc32.ChecksumIEEE(e.data))
	}
	for _, e := range p.entries {
		index = number(index, e.offset)
	}
	index = append(index, sum[:]...)
	end := sha1.Sum(index) //nolint:gosec // as above
	index = append(index, end[:]...)
	name := filepath.Join(dir, fmt.Sprintf("pack-%x", sum))
	return errors.Join(os.WriteFile(name+".pack", data, 0o444), os.WriteFile(name+".idx", index, 0o444))
}
