package properties
import ("testing";"fmt";"os";"github.com/bagrig/bagrig/harness")
func TestZZ(t *testing.T){ var n int; fmt.Sscan(os.Getenv("CASE"),&n)
 sc:=plantedCase(n)
 f:=new(planted)
 for _,g:=range allPlanted(){ if g.name==os.Getenv("ONLY"){h:=g;f=&h}}
 if f.plant!=nil {f.plant(sc,os.Getenv("SOUND")!="")}
 o:=harness.RunOptions{Checks:For(sc.Topology,sc.Events)}
 if f.name!="" && os.Getenv("SOUND")=="" {o.Tap=f.tap}
 res,err:=harness.Run(t.Context(),sc,o)
 text,_:=harness.WriteScenario(sc)
 if os.Getenv("TEXT")!="" {t.Logf("%s",text)}
 t.Log(err, sc.Damping)
 if sc.Plan!=nil {t.Log(sc.Plan)}
 for _,e:=range sc.Events{t.Log(e)}
 for _,o:=range res.Outcomes{ for i,v:=range o.Violations{ if i<3{t.Log(o.Name,v)}}}
}
