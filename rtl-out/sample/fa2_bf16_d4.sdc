# Timing constraints for fa2_bf16_d4. Periods in ns; scale to your library's unit if it differs.
create_clock -name clk -period 2 [get_ports clk]
set_input_delay 0.6 -clock clk [get_ports {rst q[*] q_valid k[*] k_valid k_last v[*]}]
set_output_delay 0.6 -clock clk [get_ports {v_step v_ren o[*] o_valid o_invalid o_saturated}]
