//! Helper of `scripts/ppa-crosscheck.sh`: runs the same stream of one core in another simulator, and compares its
//! toggles and power with ours.
//!
//! ```text
//! crosscheck bench   CONFIG.json LIBRARY MHZ CYCLES DATA FOLDER   maps the core; writes its netlist and a bench
//! crosscheck compare CONFIG.json LIBRARY MHZ CYCLES DATA FOLDER   counts FOLDER/zero.vcd and FOLDER/timed.vcd
//! ```

use flashd_ppa::liberty::{Direction, Library};
use flashd_ppa::netlist::{Netlist, NetlistPort, OPEN, Simulation};
use flashd_ppa::power::{Activity, PowerOptions, PowerReport, simulate, warm_up};
use flashd_ppa::synthesis::{Cache, CellLibrary, Flow, Tools, part};
use flashd_spec::config::CoreConfig;
use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use vcd::{Command, IdCode, ScopeItem, Value};

/// Period of the bench, ns: long enough for every path of every core in every library. Toggles do not depend
/// on it.
const PERIOD: u64 = 1000;
/// How far toggles and power with delays may be apart, percent.
const CLOSE: f64 = 5.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("crosscheck: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the counts agree.
fn run(arguments: &[String]) -> Result<bool, Box<dyn Error>> {
    let [command, config, library, mhz, cycles, data, folder] = arguments else {
        return Err("see the head of the file for its arguments".into());
    };
    let config: CoreConfig = serde_json::from_str(&std::fs::read_to_string(config)?)?;
    config.validate()?;
    let cache = Cache::new(None)?;
    let library = CellLibrary::open(Some(Path::new(library)), cache.folder())?;
    let clock_mhz: f64 = mhz.parse()?;
    let cycles = cycles.parse()?;
    let options = PowerOptions { clock_mhz, cycles, glitches: cycles, streams: 1, data: data.into() };
    let folder = Path::new(folder);
    let list = folder.join("netlists");
    if command == "bench" {
        let cells = library.clone();
        let clock_ns = Some(1e3 / clock_mhz);
        let flow = Flow { tools: Tools::discover()?, library: cells, clock_ns, cache, flat: false };
        let core = flow.map(&config.clone().into(), &|_| {})?;
        let (mut verilog, mut paths) = (String::new(), String::new());
        for module in &core.mapped.modules {
            verilog += &std::fs::read_to_string(&module.verilog)?;
            writeln!(paths, "{}", module.json.display())?;
        }
        std::fs::write(folder.join("core.v"), verilog)?;
        std::fs::write(&list, paths)?;
        println!("slack {:.3} ns at a clock of {:.3} ns", core.timing.slack, core.timing.clock);
    }
    let files = std::fs::read_to_string(&list)?;
    let files: Vec<&Path> = files.lines().map(Path::new).collect();
    let netlist = Netlist::read(&config.name(), &files, &library.cells)?;
    match command.as_str() {
        "bench" => bench(&config, &netlist, &library.cells, &options, folder).map(|()| true),
        "compare" => compare(&config, &netlist, &library.cells, &options, folder),
        _ => Err("see the head of the file for its arguments".into()),
    }
}

/// The inputs that the bench drives row by row, most significant first.
fn driven(netlist: &Netlist) -> impl DoubleEndedIterator<Item = &NetlistPort> {
    netlist.ports.iter().filter(|port| port.is_input && Some(port.nets[0]) != netlist.clock)
}

fn bench(
    config: &CoreConfig,
    netlist: &Netlist,
    library: &Library,
    options: &PowerOptions,
    out: &Path,
) -> Result<(), Box<dyn Error>> {
    let mut rows = String::new();
    let mut count = 0;
    let mut record = |_: usize, _: usize, simulation: &Simulation| {
        let nets: Vec<_> = driven(netlist).rev().flat_map(|port| &port.nets).collect();
        for digit in nets.chunks(4).rev() {
            let bits = digit.iter().enumerate().map(|(b, &&net)| (simulation.value(net) & 1) << b);
            write!(rows, "{:x}", bits.sum::<u64>()).expect("a string takes everything");
        }
        rows.push('\n');
        count += 1;
    };
    let (activity, _) = simulate(&config.clone().into(), netlist, library, options, &mut record)?;
    let glitches = activity.glitches.ok_or("nothing was simulated with delays")?;
    // Inputs change there when they do here.
    std::fs::write(out.join("input_delay"), format!("{:.3}\n", f64::from(glitches.input_delay) / 1e3))?;
    let width: usize = driven(netlist).map(|port| port.nets.len()).sum();
    let inputs: Vec<&str> = driven(netlist).map(|port| port.name.as_str()).collect();
    let clock = netlist.ports.iter().find(|port| Some(port.nets[0]) == netlist.clock);
    let clock = clock.ok_or("the netlist has no flip-flops")?.name.as_str();
    let mut text = String::from("`timescale 1ns/1ps\nmodule bench;\n");
    for port in &netlist.ports {
        let kind = if port.name == clock { "reg" } else { "wire" };
        writeln!(text, "    {kind} [{}:0] {};", port.nets.len() - 1, port.name)?;
    }
    let connections: Vec<String> = netlist.ports.iter().map(|port| format!(".{0}({0})", port.name)).collect();
    let top = config.name();
    write!(
        text,
        "    {top} core ({});
    reg [{}:0] rows [0:{}];
    reg [{}:0] row;
    assign {{{}}} = row;
    integer n;
    initial begin
        $readmemh(`ROWS, rows);
`ifdef SDF
        $sdf_annotate(`SDF, core);
`endif
        $dumpfile(`VCD);
        $dumpvars(0, core);
        {clock} = 0;
        row = rows[0];
        #{PERIOD};
        for (n = 1; n < {count}; n = n + 1) begin
            {clock} = 1;
            row <= #(`INPUT_DELAY) rows[n];
            #{half};
            {clock} = 0;
            #{half};
        end
        $finish;
    end
endmodule
",
        connections.join(", "),
        width - 1,
        count - 1,
        width - 1,
        inputs.join(", "),
        half = PERIOD / 2,
    )?;
    std::fs::write(out.join("bench.v"), text)?;
    std::fs::write(out.join("rows.hex"), rows)?;
    println!("{count} cycles, {width} input bits");
    Ok(())
}

/// Toggles of a wave by net, and pins whose value was unknown at some time in the window.
struct Wave {
    toggles: Vec<u32>,
    unknown: usize,
}

fn read_wave(file: &Path, netlist: &Netlist, first: u64) -> Result<Wave, Box<dyn Error>> {
    let mut parser = vcd::Parser::new(std::io::BufReader::new(std::fs::File::open(file)?));
    let header = parser.parse_header()?;
    let (scale, unit) = header.timescale.ok_or("the wave has no time scale")?;
    let ticks = unit.divisor() / 1_000_000_000 / u64::from(scale);
    let start = first * PERIOD * ticks;
    let mut cells: HashMap<String, usize> = HashMap::new();
    for (index, cell) in netlist.cells.iter().enumerate() {
        let mut path = netlist.path(cell.instance as usize);
        path.push(netlist.cell_name(cell));
        cells.insert(path.join(" "), index);
    }
    // Nets of each code: several when the netlist joins wires.
    let mut nets: HashMap<IdCode, Vec<u32>> = HashMap::new();
    let core = header.find_scope(&["bench", "core"]).ok_or("the wave has no scope bench.core")?;
    let mut scopes: Vec<(Vec<&str>, &[ScopeItem])> = vec![(Vec::new(), &core.items)];
    let mut seen = 0;
    while let Some((path, items)) = scopes.pop() {
        let cell = cells.get(&path.join(" ")).map(|&index| &netlist.cells[index]);
        for item in items {
            match (item, cell) {
                (ScopeItem::Scope(scope), _) => {
                    let mut path = path.clone();
                    path.push(&scope.identifier);
                    scopes.push((path, &scope.items));
                }
                (ScopeItem::Var(variable), Some(cell)) => {
                    let pins = &netlist.kinds[cell.kind as usize].cell.pins;
                    let pin = pins.iter().position(|pin| pin.name == variable.reference);
                    if let Some(pin) = pin.filter(|&pin| pins[pin].direction == Direction::Output) {
                        nets.entry(variable.code).or_default().push(netlist.pins(cell)[pin]);
                        seen += 1;
                    }
                }
                _ => {}
            }
        }
    }
    let outputs = |cell| netlist.kinds[cell as usize].cell.outputs().count();
    let expected: usize = netlist.cells.iter().map(|cell| outputs(cell.kind)).sum();
    if seen != expected {
        return Err(format!("{}: shows {seen} of {expected} cell outputs", file.display()).into());
    }
    let mut wave = Wave { toggles: vec![0; netlist.nets], unknown: 0 };
    let mut values: HashMap<IdCode, Value> = HashMap::new();
    let mut counting = false;
    for command in parser {
        match command? {
            Command::Timestamp(time) => counting = time >= start,
            Command::ChangeScalar(code, value) => {
                let Some(nets) = nets.get(&code) else { continue };
                let old = values.insert(code, value).unwrap_or(Value::X);
                let known = |value| matches!(value, Value::V0 | Value::V1);
                if counting && old != value {
                    match known(old) && known(value) {
                        true => nets.iter().for_each(|&net| wave.toggles[net as usize] += 1),
                        false => wave.unknown += 1,
                    }
                }
            }
            _ => {}
        }
    }
    Ok(wave)
}

fn compare(
    config: &CoreConfig,
    netlist: &Netlist,
    library: &Library,
    options: &PowerOptions,
    folder: &Path,
) -> Result<bool, Box<dyn Error>> {
    let (activity, workload) =
        simulate(&config.clone().into(), netlist, library, options, &mut |_, _, _| {})?;
    let first = warm_up(&config.clone().into()) as u64;
    println!("{}: {} cells, {workload}", config.name(), netlist.cells.len());
    let wave = read_wave(&folder.join("zero.vcd"), netlist, first)?;
    let outputs: Vec<u32> = netlist
        .cells
        .iter()
        .flat_map(|cell| {
            let pins = &netlist.kinds[cell.kind as usize].cell.pins;
            let nets = pins.iter().zip(netlist.pins(cell));
            nets.filter(|(pin, net)| pin.direction == Direction::Output && **net != OPEN).map(|(_, &net)| net)
        })
        .collect();
    let count =
        |toggles: &[u32]| -> u64 { outputs.iter().map(|&net| u64::from(toggles[net as usize])).sum() };
    let different =
        outputs.iter().filter(|&&net| activity.toggles[net as usize] != wave.toggles[net as usize]);
    let different = different.count();
    println!(
        "zero delay: {} cell outputs, {} toggles here, {} there, {different} outputs differ, {} unknown values",
        outputs.len(),
        count(&activity.toggles),
        count(&wave.toggles),
        wave.unknown
    );
    let report = |activity: &Activity| {
        let report = PowerReport::new(netlist, library, activity, options.clock_mhz * 1e6);
        report.figures(netlist, &part, workload.clone(), activity)
    };
    let ours = report(&activity);
    println!("power without glitches: {:.4} mW at {} MHz", ours.total, options.clock_mhz);
    let delayed = read_wave(&folder.join("timed.vcd"), netlist, first)?;
    let glitches = report(&activity.with_toggles(delayed.toggles.clone()));
    let sampled = activity.glitches.as_ref().and_then(|sample| sample.heads.first());
    let sampled = sampled.ok_or("nothing was simulated with delays")?;
    let timed = report(&activity.with_toggles(sampled.toggles.clone()));
    let (toggles, theirs) = (count(&sampled.toggles) as f64, count(&delayed.toggles) as f64);
    let apart = |a: f64, b: f64| 100.0 * (a / b - 1.0);
    let by_net: f64 = outputs
        .iter()
        .map(|&net| f64::from(sampled.toggles[net as usize].abs_diff(delayed.toggles[net as usize])))
        .sum();
    println!(
        "with delays here: {toggles} toggles, {:+.2} % of those there, {:.2} % net by net; power {:.4} mW, {:+.2} %",
        apart(toggles, theirs),
        100.0 * by_net / theirs,
        timed.total,
        apart(timed.total, glitches.total)
    );
    let close = |a: f64, b: f64| apart(a, b).abs() <= CLOSE;
    let agrees = close(toggles, theirs) && close(timed.total, glitches.total);
    println!(
        "with delays there: {} toggles, {:.3} times as many, {} unknown values; power {:.4} mW, {:.3} times as much",
        count(&delayed.toggles),
        count(&delayed.toggles) as f64 / count(&activity.toggles) as f64,
        delayed.unknown,
        glitches.total,
        glitches.total / ours.total
    );
    // Glitches come in pairs: with and without them every output must end up at the same value.
    let odd = |net: u32| (activity.toggles[net as usize] ^ delayed.toggles[net as usize]) & 1 == 1;
    let strayed = outputs.iter().filter(|&&net| odd(net)).count();
    println!("with delays {strayed} outputs end at another value");
    for ((part, with), (_, without)) in glitches.by_part.iter().zip(&ours.by_part) {
        println!("    {part:?}: {without:.4} mW without glitches, {with:.4} mW with");
    }
    Ok(agrees && different + wave.unknown + delayed.unknown + strayed == 0)
}
