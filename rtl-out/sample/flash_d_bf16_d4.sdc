# Timing constraints for flash_d_bf16_d4. Periods in ns; scale to your library's unit if it differs.
create_clock -name clk -period 2 [get_ports clk]
set_input_delay 0.5 -clock clk [remove_from_collection [all_inputs] [get_ports clk]]
set_output_delay 0.5 -clock clk [all_outputs]
