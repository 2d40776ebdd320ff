// The board around the SoC: a clock, and a terminal at the UART. Ends with the firmware's last line.
#include "Vsoc.h"
#include <cstdio>
#include <string>

// Cycles of a bit.
static constexpr unsigned BIT = CLOCK / BAUD;
static constexpr unsigned long LIMIT = 3'000'000;

int main(int count, char **words)
{
    Verilated::commandArgs(count, words);
    Vsoc soc;
    soc.serial_rx = 1;
    std::string line;
    // Cycles to the middle of the next bit, the bits that have come, and how many.
    unsigned wait = 0, byte = 0, bits = 0;
    for (unsigned long cycle = 0; cycle < LIMIT; cycle++) {
        soc.sys_clk = 0;
        soc.eval();
        soc.sys_clk = 1;
        soc.eval();
        if (bits == 0 && !soc.serial_tx) {
            // The start bit: the first data bit's middle is one and a half bits away.
            wait = BIT + BIT / 2;
            bits = 1;
            byte = 0;
        } else if (bits > 0 && --wait == 0) {
            wait = BIT;
            if (bits++ <= 8) {
                byte |= unsigned(soc.serial_tx) << (bits - 2);
                continue;
            }
            bits = 0;
            std::putchar(int(byte));
            line += char(byte);
            if (byte != '\n')
                continue;
            bool passes = line == "PASS\n";
            if (passes || line.find("FAILED") != std::string::npos) {
                std::printf("TEST %s: %lu cycles of the SoC\n", passes ? "PASSED" : "FAILED", cycle);
                return !passes;
            }
            line.clear();
        }
    }
    std::printf("TEST FAILED: nothing in %lu cycles\n", LIMIT);
    return 1;
}
