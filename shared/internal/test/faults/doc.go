// Package faults tests what is left when something goes wrong: host, plugin or guardian die
// or are stopped, disks are full, descriptors leak, and load is heavy. It injects each fault
// for real. TestSoak does all of it at once, in random order.
package faults
